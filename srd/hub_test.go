package srd_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
)

// spoke is a peer of a hub: the connection of the peer, and the hub's connection to it.
type spoke struct {
	own, hub *host
	from     srd.Tuple // tuple of the spoke at the hub
}

// newHub returns n spokes of one hub that has just started.
func newHub(t *testing.T, n int) (*pair, *srd.Endpoint, []spoke) {
	p := newPair(t, 51, links(1)...)
	hub := p.host[1]
	end := srd.NewEndpoint(hub.id, reader{p.rng})
	var all []spoke
	for i := range n {
		s := spoke{own: &host{p: p, train: srd.NewTrain()}, hub: &host{p: p, side: 1, id: hub.id, train: srd.NewTrain()}}
		s.own.id, _ = handshake.NewIdentity(handshake.PrivateKey{1, byte(i), byte(i >> 8)})
		p.host = [2]*host{s.own, s.hub}
		s.own.start()
		s.hub.start()
		end.Add(s.hub.conn)
		s.from = p.tuple(1, 0)
		s.from.Remote = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 1000)
		s.own.conn.SetTuples(p.now, p.tuples(0))
		all = append(all, s)
	}
	return p, end, all
}

// carryOver delivers all packets that both sides of s send now.
func (s *spoke) carryOver(p *pair, end *srd.Endpoint) {
	s.own.conn.Advance(p.now)
	for s.own.conn.Next(p.now, s.own.train, nil) && handshake.Kind(s.own.train.Buf) != 0 {
		a, reply := end.Receive(p.now, s.from, s.own.train.Buf, nobody)
		if a.Conn != nil && a.Deliver(p.now) {
			reply = end.Stale(p.now, &a)
		}
		if reply != nil {
			s.own.greets(p.tuple(0, 0), reply)
		}
	}
	for s.hub.conn.Next(p.now, s.hub.train, nil) && handshake.Kind(s.hub.train.Buf) != 0 {
		s.own.greets(p.tuple(0, 0), s.hub.train.Buf)
	}
}

// 256 peers send initiations to a hub at the moment of its start. The hub has sessions with
// all of them within a second, although the load makes it demand cookies. It decrypts each
// initiation once.
func TestHubMeetsAllAtOnce(t *testing.T) {
	p, end, all := newHub(t, 256)
	for _, s := range all {
		s.own.conn.Connect(p.now)
	}
	begin, met := p.now, 0
	for ; met < len(all) && p.now.Sub(begin) < 2*time.Second; p.now = p.now.Add(time.Millisecond) {
		met = 0
		for i := range all {
			s := &all[i]
			if s.carryOver(p, end); s.own.conn.Session(p.now).Ready {
				met++
			}
		}
	}
	if d := p.now.Sub(begin); met < len(all) || d > time.Second {
		t.Errorf("%d of %d met in %v; counters %v", met, len(all), d, end.Drops)
	}
	answered := uint64(0)
	for _, s := range all {
		answered += s.hub.conn.Stats().Handshakes
	}
	if answered > uint64(len(all)+10) {
		t.Errorf("%d handshakes for %d peers", answered, len(all))
	}
}
