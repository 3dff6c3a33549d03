package daemon

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/netconf"
)

// What others take away of the interface's addresses, routes and rules is put back. Two
// programs that each undo what the other does must not keep the host busy: after a few
// times it waits.
const (
	// guardBurst times it is put back as soon as it is gone, then every guardEvery.
	guardBurst = 8
	guardEvery = 30 * time.Second
	// guardRetry is after a failure to listen or to put something back.
	guardRetry = 10 * time.Second
	// guardLook is how often it is looked whether all is there, without news: they may
	// get lost.
	guardLook = 5 * time.Minute
)

// guarding says how often something may be put back, and knows what was told. The zero
// value may at once, and has told nothing.
type guarding struct {
	used int       // times, less those that are forgiven
	at   time.Time // of the last one forgiven

	down bool   // the interface is
	lost string // what could not be put back; "": all is there
}

// wait returns how long to wait before something is put back.
func (g *guarding) wait(now time.Time) time.Duration {
	if g.used == 0 {
		g.at = now
	}
	if n := int(now.Sub(g.at) / guardEvery); n > 0 {
		g.used = max(0, g.used-n)
		g.at = g.at.Add(time.Duration(n) * guardEvery)
	}
	if g.used < guardBurst {
		return 0
	}
	return max(0, g.at.Add(guardEvery).Sub(now))
}

// guard puts back what others take away, until ctx ends.
func (d *device) guard(ctx context.Context) {
	var g guarding
	for ctx.Err() == nil {
		w, err := d.net.Watch()
		if err != nil {
			d.log.tell(events.Fallback, "guard", "nobody tells when others remove routes: %v", err)
			d.restore(&g)
			pause(ctx, guardLook)
			continue
		}
		look := time.Duration(0) // something may be gone since before it listened
		for w.Wait(ctx, time.Now().Add(look)) {
			// Whatever flushes one table mostly goes on with the next.
			if !pause(ctx, max(settle, g.wait(time.Now()))) {
				break
			}
			look = d.restore(&g)
		}
		w.Close()
	}
}

// pause waits, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// restore puts back what is missing, and tells. It returns when to look again.
func (d *device) restore(g *guarding) time.Duration {
	name := d.running.cfg().Interface.Name
	r := d.net.Restore()
	d.tellDevice(name, r, g)
	if len(r.Back) > 0 {
		g.used++
	}
	d.tellRestored(name, r, g)
	if len(r.Came) > 0 {
		d.log.tell(events.RoutesRestored, "ipv6", "%s: IPv6 is on: made %s", name, some(r.Came))
	}
	if r.Fault != nil {
		return guardRetry
	}
	if r.Off { // nobody tells when IPv6 is switched on
		return guardEvery
	}
	return guardLook
}

// tellRestored tells what was put back, and what could not be: once, however often it is
// tried again.
func (d *device) tellRestored(name string, r netconf.Restored, g *guarding) {
	before := g.lost
	switch {
	case r.Fault != nil:
		g.lost = strings.ReplaceAll(r.Fault.Error(), "\n", "; ")
	case !r.Down && !r.Gone:
		g.lost = ""
	}
	switch {
	case len(r.Back) > 0:
		d.log.tell(events.RoutesRestored, "", "%s: somebody removed, and this put back: %s", name, some(r.Back))
	case g.lost == "" && before != "":
		d.log.tell(events.RoutesRestored, "", "%s: all is there again", name)
	}
	if g.lost != "" && (g.lost != before || len(r.Back) > 0) {
		d.log.tell(events.RoutesLost, "", "%s: not put back: %s", name, g.lost)
	}
}

func (d *device) tellDevice(name string, r netconf.Restored, g *guarding) {
	switch {
	case r.Down && !g.down:
		d.log.tell(events.DeviceDown, "", "%s was set down: nothing passes until it is set up", name)
	case !r.Down && g.down && !r.Gone:
		d.log.tell(events.DeviceUp, "", "%s was set up again", name)
	}
	g.down = r.Down
}

// some lists the first of many.
func some(v []string) string {
	text := strings.Join(v[:min(len(v), events.MostListed)], ", ")
	if len(v) > events.MostListed {
		text += fmt.Sprintf(", and %d more", len(v)-events.MostListed)
	}
	return text
}
