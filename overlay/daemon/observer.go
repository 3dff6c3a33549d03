package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/daemon/internal/memory"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// observer looks at everything about once a second and tells what changed. Nothing on the
// path of packets knows of it.
type observer struct {
	log       *eventLog
	running   *runningConfig
	memory    *memory.Shared
	uplinks   *uplinks
	ingress   *ingress
	sessions  *sessions
	endpoints *endpoints
	restart   *restart

	uplinkWatch uplinkWatch
	refusals    refusalWatch
	names       map[srd.Uplink]string // interfaces of uplinks, which may be gone by now
	fallback    bool                  // it was said that segmentation is missing
	resumed     mono.Time
	latest      mono.Time
}

// settleLooks is how often the paths of a peer are still looked at when no packet comes or
// goes any more: what is down is told at the second look.
const settleLooks = 3

// observe looks once.
func (o *observer) observe(now mono.Time) {
	o.tellStall(now)
	yes, no := map[srd.Uplink]bool{}, map[srd.Uplink]bool{}
	again := o.endpoints.hostChanged.Swap(false)
	for _, p := range o.running.peers() {
		v := o.sample(p, again)
		if v.looked {
			o.restart.noteLastKnown(p, v.paths)
		}
		p.health.watch.see(v)
		up, down := p.health.watch.works()
		for _, a := range up {
			yes[a] = true
		}
		for _, a := range down {
			no[a] = true
		}
	}
	o.tellUplinks(yes, no)
	gone := o.uplinkWatch.down()
	for _, p := range o.running.peers() {
		for _, e := range p.health.watch.look(now, gone) {
			e.Peer, e.Text = p.title(), "peer "+p.title()+": "+e.Text
			e.Roams = len(p.cfg().Endpoints) == 0
			o.log.add(e)
		}
		o.tellRouter(p)
	}
	o.tellStrangers(now)
	if n := o.sessions.loop.Sends.NoSegments.Load(); n > 0 && !o.fallback {
		o.fallback = true
		o.log.tell(events.Fallback, "segments", "a device or route refuses UDP segmentation: trains are sent packet by packet, which is slower")
	}
	o.restart.saveLastKnown()
	o.log.advance()
}

// sample looks at p. Its paths are left out when nothing came or went.
func (o *observer) sample(p *peer, again bool) (v sample) {
	w := &p.health.watch
	p.link.Do(func(now mono.Time, c *srd.Conn) {
		t := c.Stats()
		v.session = c.Session(now)
		p.health.silence.observe(now, v.session, t)
		v.since = p.health.silence.from
		_, v.silent = p.health.silence.since(now)
		v.restarts, v.closed, v.mismatch = p.health.restarts, t.Drops[srd.DropClosed], t.Drops[srd.DropHandshakeBad]
		v.tooSmall, v.bytes = t.PathsTooSmall, t.RxBytes+t.TxBytes
		if again || v.bytes != w.seen.bytes {
			w.settling = settleLooks
		}
		if v.looked = w.settling > 0; v.looked {
			w.settling--
			v.paths = c.Paths()
		}
	})
	if w.mtu == 0 {
		v.most = o.uplinks.most(v.paths)
	}
	return v
}

// tellStall tells that the process did not run.
func (o *observer) tellStall(now mono.Time) {
	resumed := o.ingress.stalls.note(now)
	if resumed != o.resumed && o.latest != 0 {
		o.log.tell(events.ProcessStalled, "", "the process did not run for about %v", now.Sub(o.latest).Round(time.Second))
	}
	o.resumed, o.latest = resumed, now
}

// tellUplinks tells of uplinks from which no path works any more, or some do again.
func (o *observer) tellUplinks(yes, no map[srd.Uplink]bool) {
	if o.names == nil {
		o.names = map[srd.Uplink]string{}
	}
	for _, n := range o.uplinkWatch.look(yes, no, o.uplinks.has) {
		if name := o.uplinks.interfaces.name(n.of); name != "" {
			o.names[n.of] = name
		}
		name := o.names[n.of]
		at, subject := uplinkText(n.of, name), uplinkName(n.of, name)
		switch {
		case n.up:
			o.log.tell(events.UplinkUp, subject, "uplink %s: paths from it work", at)
		case n.gone && o.uplinks.has(n.of.At(0)):
			o.log.tell(events.UplinkDown, subject, "uplink %s: the interface has this address no more", at)
		case n.gone:
			o.log.tell(events.UplinkDown, subject, "uplink %s: it is no address of this host any more", at)
		default:
			o.log.tell(events.UplinkDown, subject, "uplink %s: no path from it works", at)
		}
		if n.gone {
			delete(o.names, n.of)
		}
	}
}

// tellStrangers tells of handshakes that were refused.
func (o *observer) tellStrangers(now mono.Time) {
	news := o.refusals.look(now, o.sessions.loop.EndpointDrops())
	if len(news) == 0 {
		return
	}
	refused := o.sessions.loop.Refused()
	for _, n := range news {
		who := refused[n.reason]
		e := events.Event{Kind: events.StrangerRefused, Subject: n.reason.String(), Attributes: map[string]string{
			"reason": n.reason.String(), "count": fmt.Sprint(n.count),
		}}
		e.Text = fmt.Sprintf("refused: %d %s (%v)", n.count, n.what, n.reason)
		if who.From.IsValid() {
			e.Attributes["from"] = who.From.String()
			e.Text += fmt.Sprintf(", the last from %v", who.From)
		}
		if who.Key != [len(who.Key)]byte{} {
			key := config.Key(who.Key).String()
			e.Attributes["key"] = key
			e.Text += ", who has the key " + key
		}
		o.log.add(e)
	}
}

// run gives signs of life until ctx ends, for the time in which nothing else does, and
// looks at what happened meanwhile.
func (o *observer) run(ctx context.Context) {
	tick := time.NewTicker(aliveEvery)
	defer tick.Stop()
	for {
		o.observe(o.sessions.loop.Now())
		o.memory.Collect(time.Now())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// tellRouter tells of the router, once. The peer wrote its address, and may have made it up: so
// the line says what it is, and does not advise to let it in.
func (o *observer) tellRouter(p *peer) {
	r := p.health.router.Load()
	if r == nil || r.conf == p.health.watch.router {
		return
	}
	p.health.watch.router = r.conf
	whose := ""
	at := o.running.Load()
	if i, ok := at.table.Lookup(r.addr); ok {
		whose = ", and belongs to peer " + at.peers[i].title()
	}
	o.log.tellOf(p.title(), events.RouterRefused, "", "dropped: ICMP errors (%s): their source, which this peer wrote and nothing proves, is %s: it is not in its allowed_ips%s; traceroute and path MTU discovery behind the peer may fail", r.says, r.addr, whose)
}
