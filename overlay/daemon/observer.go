package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/daemon/internal/health"
	"github.com/srdtun/srdtun/overlay/daemon/internal/memory"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// observer samples the state of the daemon about once a second and reports changes. Packet
// processing does not depend on the observer.
type observer struct {
	log       *eventLog
	running   *runningConfig
	memory    *memory.Shared
	uplinks   *uplinks
	ingress   *ingress
	sessions  *sessions
	endpoints *endpoints
	restart   *restart

	uplinkWatch health.Uplinks
	refusals    health.Refusals
	answers     strangeAnswers
	names       map[srd.Uplink]string // interfaces of uplinks, including uplinks that no longer exist
	fallback    bool                  // it was reported that UDP segmentation is missing
	resumed     mono.Time
	latest      mono.Time
}

func (o *observer) observe(now mono.Time) {
	o.tellStall(now)
	yes, no := map[srd.Uplink]bool{}, map[srd.Uplink]bool{}
	again := o.endpoints.hostChanged.Swap(false)
	for _, p := range o.running.peers() {
		v := o.sample(p, again)
		if v.Looked {
			o.restart.noteLastKnown(p, v.Paths)
		}
		p.health.watch.See(v)
		up, down := p.health.watch.Works()
		for _, a := range up {
			yes[a] = true
		}
		for _, a := range down {
			no[a] = true
		}
	}
	o.tellUplinks(yes, no)
	gone := o.uplinkWatch.Down()
	for _, p := range o.running.peers() {
		for _, e := range p.health.watch.Look(now, gone) {
			e.Peer, e.Text = p.title(), "peer "+p.title()+": "+e.Text
			e.Guest = p.cfg().Guest
			e.Roams = len(p.cfg().Endpoints) == 0
			o.log.add(e)
		}
		o.tellRouter(p)
	}
	o.tellStrangers(now)
	o.answers.look(now, o.sessions.loop.EndpointDrops(), o.sessions.loop.Refused, o.running.peers())
	o.sessions.blocked.look(now, &o.sessions.loop.Sends, o.log)
	for _, a := range o.uplinks.listed.news() {
		where := ""
		if o.uplinks.listed.names(a) {
			where = " at other interfaces"
		}
		o.log.tell(events.LocalUnlisted, a.String(), "packets to %s%s are dropped: paths.local does not name it", a, where)
	}
	if n := o.sessions.loop.Sends.NoSegments.Load(); n > 0 && !o.fallback {
		o.fallback = true
		o.log.tell(events.Fallback, "segments", "a device or route refuses UDP segmentation: trains are sent packet by packet, which is slower")
	}
	o.restart.saveLastKnown()
	o.log.advance()
}

// sample returns the state of peer p. If there was no traffic since the last sample, sample()
// does not read the paths.
func (o *observer) sample(p *peer, again bool) (v health.Sample) {
	w := &p.health.watch
	p.link.Do(func(now mono.Time, c *srd.Conn) {
		t := c.Stats()
		v.Session = c.Session(now)
		p.health.observe(now, v.Session, c)
		v.Since = p.health.silence.Start()
		_, v.Silent = p.health.silence.Since(now)
		v.Restarts, v.Closed = p.health.restarts, t.Drops[srd.DropClosed]
		v.Twins, v.Mismatch = p.health.twins.Why(now), p.health.handshakes.Why(now)
		v.TooSmall, v.Bytes = t.PathsTooSmall, t.RxBytes+t.TxBytes
		if v.Looked = w.WantsPaths(v.Bytes, again); v.Looked {
			v.Paths = c.Paths()
		}
	})
	if !w.Sized() {
		v.Most = o.uplinks.most(v.Paths)
	}
	return v
}

func (o *observer) tellStall(now mono.Time) {
	resumed := o.ingress.stalls.note(now)
	if resumed != o.resumed && o.latest != 0 {
		o.log.tell(events.ProcessStalled, "", "the process did not run for about %v", now.Sub(o.latest).Round(time.Second))
	}
	o.resumed, o.latest = resumed, now
}

// tellUplinks reports uplinks that have lost all working paths, and uplinks that work again.
func (o *observer) tellUplinks(yes, no map[srd.Uplink]bool) {
	if o.names == nil {
		o.names = map[srd.Uplink]string{}
	}
	for _, n := range o.uplinkWatch.Look(yes, no, o.uplinks.has) {
		if name := o.uplinks.interfaces.name(n.Of); name != "" {
			o.names[n.Of] = name
		}
		name := o.names[n.Of]
		at, subject := uplinkText(n.Of, name), uplinkName(n.Of, name)
		if n.Up {
			o.log.tell(events.UplinkUp, subject, "uplink %s: paths from it work", at)
		} else {
			o.log.tell(events.UplinkDown, subject, "uplink %s: %s", at, o.uplinks.loss(n))
		}
		if n.Gone {
			delete(o.names, n.Of)
		}
	}
}

func (o *observer) tellStrangers(now mono.Time) {
	news := o.refusals.Look(now, o.sessions.loop.EndpointDrops())
	if len(news) == 0 {
		return
	}
	refused := o.sessions.loop.Refused()
	for _, n := range news {
		who := refused[n.Reason]
		e := events.Event{Kind: events.StrangerRefused, Subject: n.Reason.String(), Attributes: map[string]string{
			"reason": n.Reason.String(), "count": fmt.Sprint(n.Count),
		}}
		e.Text = fmt.Sprintf("refused: %d %s (%v)", n.Count, n.What, n.Reason)
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

// run calls observe about once a second until ctx ends. In each round, the method run() also
// records in the stall detector that the process runs.
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

// tellRouter reports a router once, if its ICMP errors were refused. The peer may have faked the
// router's address, so the log line does not advise to allow the address.
func (o *observer) tellRouter(p *peer) {
	r := p.health.router.Load()
	if r == nil || r.conf == p.health.routerTold {
		return
	}
	p.health.routerTold = r.conf
	whose := ""
	at := o.running.Load()
	if i, ok := at.table.Lookup(r.addr); ok {
		whose = ", and belongs to peer " + at.peers[i].title()
	}
	o.log.tellOf(p.cfg(), events.RouterRefused, "", "dropped ICMP errors (%s): their source %s is not in the peer's allowed_ips%s, and the peer may have invented it; traceroute and path MTU discovery behind the peer may fail; if connections hang there, lower interface.mtu, or limit the TCP MSS at the peer; if you know the router, you may add its address to allowed_ips", r.says, r.addr, whose)
}
