package daemon

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/srdtun/srdtun/internal/pause"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/netconf"
)

// The guard restores addresses, routes and rules of the interface that other programs remove.
// Another program may undo each repair, so the guard limits the rate of its repairs. Otherwise the
// two programs could keep the host busy.
const (
	// The first guardBurst repairs are made immediately, and then one repair every guardEvery.
	guardBurst = 8
	guardEvery = 30 * time.Second
	// guardRetry is the wait after a failed subscription or a failed repair.
	guardRetry = 10 * time.Second
	// guardLook is the interval of checks while the kernel reports no change. They are needed
	// because a report may be lost.
	guardLook = 5 * time.Minute
)

// guarding limits the rate of repairs, and stores which repairs have been reported. The zero
// value of guarding allows an immediate repair.
type guarding struct {
	used int       // repairs made, less one for each guardEvery that has passed
	at   time.Time // time until which guardEvery intervals were subtracted from used

	down bool   // the interface is down
	bare bool   // the interface is in another network namespace, without its addresses and routes
	lost string // reason of the last failed repair; "": nothing is missing
}

// wait returns the time to wait before the next repair.
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

func (d *device) guard(ctx context.Context) {
	var g guarding
	for ctx.Err() == nil {
		w, err := d.net.Watch()
		if err != nil {
			d.log.tell(events.Fallback, "guard", "the kernel does not report when others remove routes: %v", err)
			d.restore(&g)
			pause.For(ctx, guardLook)
			continue
		}
		look := time.Duration(0) // something may have been removed before the subscription
		for w.Wait(ctx, time.Now().Add(look)) {
			// A program that flushes one table often flushes another one next, so the guard waits
			// before it repairs.
			if !pause.For(ctx, max(settle, g.wait(time.Now()))) {
				break
			}
			look = d.restore(&g)
		}
		w.Close()
	}
}

// restore repairs missing settings, and reports the repairs. The method restore() returns the
// time until the next check.
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
	if r.Off { // the kernel does not report when IPv6 is enabled again
		return guardEvery
	}
	return guardLook
}

// tellRestored reports repairs, and failed repairs. The method tellRestored reports a repeated
// failure only once.
func (d *device) tellRestored(name string, r netconf.Restored, g *guarding) {
	before := g.lost
	switch {
	case r.Fault != nil:
		g.lost = strings.ReplaceAll(r.Fault.Error(), "\n", "; ")
	case !r.Down && !r.Gone:
		g.lost = ""
	}
	lost := g.lost
	d.lost.Store(&lost)
	switch {
	case len(r.Back) > 0:
		d.log.tell(events.RoutesRestored, "", "%s: put back after another program removed it: %s", name, some(r.Back))
	case g.lost == "" && before != "":
		d.log.tell(events.RoutesRestored, "", "%s: all settings are there again", name)
	}
	if g.lost != "" && (g.lost != before || len(r.Back) > 0) {
		d.log.tell(events.RoutesLost, "", "%s: not put back: %s", name, g.lost)
	}
}

func (d *device) tellDevice(name string, r netconf.Restored, g *guarding) {
	switch {
	case r.Bare && !g.bare:
		d.log.tell(events.DeviceDown, "", "%s", movedAway(name))
	case !r.Gone && g.bare && !r.Down:
		d.log.tell(events.DeviceUp, "", "%s is in this network namespace again", name)
	case r.Down && !g.down:
		d.log.tell(events.DeviceDown, "", "%s was set down: nothing passes until it is set up", name)
	case !r.Down && g.down && !r.Gone:
		d.log.tell(events.DeviceUp, "", "%s was set up again", name)
	}
	g.down, g.bare = r.Down, r.Bare
	d.setDown.Store(r.Down)
	d.moved.Store(r.Bare)
}

// movedAway returns the line about a device that is in another network namespace.
func movedAway(name string) string {
	return fmt.Sprintf("%s was moved to another network namespace, and has lost its addresses and routes: start srdtun in that namespace", name)
}

// some joins the first texts of v, and appends the number of the others.
func some(v []string) string {
	text := strings.Join(v[:min(len(v), events.MostListed)], ", ")
	if len(v) > events.MostListed {
		text += fmt.Sprintf(", and %d more", len(v)-events.MostListed)
	}
	return text
}
