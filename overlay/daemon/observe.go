package daemon

import (
	"fmt"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/udp"
)

// observer looks at everything about once a second and tells what changed. Nothing on the
// path of packets knows of it.
type observer struct {
	uplinks   uplinkWatch
	strangers strangerWatch
	names     map[srd.Uplink]string // interfaces of uplinks, which may be gone by now
	fallback  bool                  // it was said that segmentation is missing
	resumed   mono.Time
	latest    mono.Time
}

// settleLooks is how often the paths of a peer are still looked at when no packet comes or
// goes any more: what is down is told at the second look.
const settleLooks = 3

// observe looks once.
func (s *server) observe(now mono.Time) {
	o := &s.seen
	s.tellStall(o, now)
	yes, no := map[srd.Uplink]bool{}, map[srd.Uplink]bool{}
	again := s.hostNews.Swap(false)
	for _, p := range s.peers() {
		v := s.sight(p, again)
		if v.looked {
			s.notePlaces(p, v.paths)
		}
		p.watch.see(v)
		up, down := p.watch.works()
		for _, a := range up {
			yes[a] = true
		}
		for _, a := range down {
			no[a] = true
		}
	}
	s.tellUplinks(o, yes, no)
	gone := o.uplinks.down()
	for _, p := range s.peers() {
		for _, e := range p.watch.look(now, gone) {
			e.Peer, e.Text = p.title(), "peer "+p.title()+": "+e.Text
			e.Roams = len(p.cfg().Endpoints) == 0
			s.story.add(e)
		}
		s.tellRouter(p)
	}
	s.tellStrangers(o, now)
	if n := s.loop.Sends.NoSegments.Load(); n > 0 && !o.fallback {
		o.fallback = true
		s.tell(events.Fallback, "segments", "a device or route refuses UDP segmentation: trains are sent packet by packet, which is slower")
	}
	s.savePlaces()
	s.story.advance()
}

// sight looks at p. Its paths are left out when nothing came or went.
func (s *server) sight(p *peer, again bool) (v sight) {
	w := &p.watch
	p.link.Do(func(now mono.Time, c *srd.Conn) {
		t := c.Stats()
		v.session = c.Session(now)
		p.silence.observe(now, v.session, t)
		v.since = p.silence.from
		_, v.silent = p.silence.since(now)
		v.restarts, v.closed, v.mismatch = p.restarts, t.Drops[srd.DropClosed], t.Drops[srd.DropHandshakeBad]
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
		v.most = s.most(v.paths)
	}
	return v
}

// most returns the largest UDP payload that the devices here take on all of paths.
func (s *server) most(paths []srd.PathInfo) (most int) {
	for i := range paths {
		if n := s.payload(paths[i].Tuple); paths[i].State == srd.PathActive && (most == 0 || n < most) {
			most = n
		}
	}
	return min(most, srd.MaxPacket)
}

// tellStall tells that the process did not run.
func (s *server) tellStall(o *observer, now mono.Time) {
	resumed := s.alive.note(now)
	if resumed != o.resumed && o.latest != 0 {
		s.tell(events.ProcessStalled, "", "the process did not run for about %v", now.Sub(o.latest).Round(time.Second))
	}
	o.resumed, o.latest = resumed, now
}

// tellUplinks tells of uplinks from which no path works any more, or some do again.
func (s *server) tellUplinks(o *observer, yes, no map[srd.Uplink]bool) {
	if o.names == nil {
		o.names = map[srd.Uplink]string{}
	}
	for _, n := range o.uplinks.look(yes, no, s.hasUplink) {
		if name := s.devices.name(n.of); name != "" {
			o.names[n.of] = name
		}
		name := o.names[n.of]
		at, subject := uplinkText(n.of, name), uplinkName(n.of, name)
		switch {
		case n.up:
			s.tell(events.UplinkUp, subject, "uplink %s: paths from it work", at)
		case n.gone && s.hasUplink(n.of.At(0)):
			s.tell(events.UplinkDown, subject, "uplink %s: the interface has this address no more", at)
		case n.gone:
			s.tell(events.UplinkDown, subject, "uplink %s: it is no address of this host any more", at)
		default:
			s.tell(events.UplinkDown, subject, "uplink %s: no path from it works", at)
		}
		if n.gone {
			delete(o.names, n.of)
		}
	}
}

// hasUplink reports whether packets may leave from u.
func (s *server) hasUplink(u srd.Uplink) bool {
	return s.devices.has(u) && udp.HasAddress(u.Addr())
}

// uplinkText is u for a line of the log: its address and, if it is known, its interface.
func uplinkText(u srd.Uplink, name string) string {
	if name == "" {
		return u.Addr().String()
	}
	return u.Addr().String() + " (" + name + ")"
}

// uplinkName tells u from all others: what leaves by one interface alone has its name, as
// ss(8) writes it.
func uplinkName(u srd.Uplink, name string) string {
	if u.Link() == 0 || name == "" {
		return u.Addr().String()
	}
	return u.Addr().String() + "%" + name
}

// tellStrangers tells of handshakes that were refused.
func (s *server) tellStrangers(o *observer, now mono.Time) {
	news := o.strangers.look(now, s.loop.EndpointDrops())
	if len(news) == 0 {
		return
	}
	refused := s.loop.Refused()
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
		s.story.add(e)
	}
}
