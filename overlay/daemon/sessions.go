package daemon

import (
	"crypto/rand"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/daemon/internal/health"
	"github.com/srdtun/srdtun/overlay/daemon/internal/memory"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/order"
	"github.com/srdtun/srdtun/overlay/queue"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/loop"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// sessions creates and removes the connections to peers.
type sessions struct {
	log     *eventLog
	running *runningConfig
	memory  *memory.Shared
	device  *device
	uplinks *uplinks
	ingress *ingress
	id      *handshake.Identity
	loop    *loop.Loop
	verbose bool
	calls   guestCalls
	blocked blockedSends
}

// newPeer creates the connection to a configured peer. The method newPeer sends no packet yet.
func (s *sessions) newPeer(all *config.Config, c *config.Peer, policy steer.Policy) *peer {
	p := &peer{removed: &s.ingress.drops.removed, rejects: &s.ingress.rejects, flows: &s.ingress.flows}
	p.out.pool, p.out.queue = s.device.tun.Pool(), queue.New(queue.Config{Budget: s.memory.Budget})
	p.in.hold = all.Order.HoldMax
	p.delivery = delivery{
		tun: s.device.tun, mergers: &s.device.mergers,
		allowed:  func(src netip.Addr) bool { return s.running.Load().allowed(p, src) },
		refused:  p.noteRefused,
		accepted: func(frames []*frame.Frame) { p.flows.received(p, frames) },
	}
	p.remote.found = map[config.Endpoint][]netip.AddrPort{}
	p.steering = steering{name: c.Policy, policy: policy, control: cc.New(0)}
	p.health.watch = health.Peer{Verbose: s.verbose, Title: func(u srd.Uplink) string { return uplinkText(u, s.uplinks.interfaces.name(u)) }}
	p.conf.Store(c)
	p.in.reassembler = order.NewReassembler(order.Config{Hold: all.Order.HoldMax, Least: ipv4Header, Alloc: p.alloc, Budget: s.memory.Budget})
	conn := srd.New(srd.Config{
		Identity:    s.id,
		Remote:      handshake.PublicKey(c.PublicKey),
		PSK:         c.PresharedKey.Bytes(),
		Offers:      ciphers(all.Transport.Cipher),
		Features:    readsTunnelled,
		Incarnation: random64(),
		Rand:        rand.Reader,
		Indexes:     s.loop.Indexes(),
		Addresses:   s.loop.Addresses(),
		Afford: func(now mono.Time, to netip.Addr, n int) bool {
			return !p.cfg().Guest || s.calls.take(now, to, n)
		},
		Timestamp: s.timestamp,
		MTU:       s.uplinks.payload,
		Policy:    policy,
		Class:     s.uplinks.classes.class,
		Control:   p.steering.control,
		Keepalive: c.PersistentKeepalive,
		HostDelay: s.loop.HostDelay,
	})
	s.loop.Add(conn, p)
	return p
}

// timestamp converts a time of the event loop's clock to the wall clock.
func (s *sessions) timestamp(now mono.Time) handshake.Timestamp {
	return handshake.TimestampOf(time.Now().Add(now.Sub(s.loop.Now())))
}

// remove closes the connection to a peer that was removed from the configuration. A thread that
// looked up the peer a moment before may still send packets to it.
func (s *sessions) remove(p *peer) {
	p.link.Do(func(now mono.Time, _ *srd.Conn) {
		p.gone.Store(true)
		waited := uint64(p.out.queue.Len())
		p.out.queue.Flush(p.refuse(now))
		p.removed.Add(waited + p.out.abandon())
	})
	s.loop.Remove(p.link)
	p.link.Do(func(now mono.Time, _ *srd.Conn) {
		before := p.in.reassembler.Stats().Voided
		p.in.reassembler.Reset(now)
		p.removed.Add(p.in.reassembler.Stats().Voided - before)
	})
	p.Flush() // counts and drops complete frames that waited for earlier ones
}

// change applies the differences between the old configuration and c to the connection.
func (p *peer) change(c *config.Peer, policy steer.Policy) {
	was := p.cfg()
	p.conf.Store(c)
	psk := !was.PresharedKey.Equal(c.PresharedKey)
	keepalive := was.PersistentKeepalive != c.PersistentKeepalive
	if !psk && !keepalive && policy == nil {
		return
	}
	p.link.Do(func(now mono.Time, conn *srd.Conn) {
		if psk {
			conn.SetPSK(c.PresharedKey.Bytes())
		}
		if policy != nil {
			conn.SetPolicy(policy)
			p.steering.name, p.steering.policy = c.Policy, policy
		}
		if keepalive {
			conn.SetKeepalive(now, c.PersistentKeepalive)
		}
	})
	p.link.Kick()
}

// ciphers returns the ciphers that the configuration allows for a peer.
func ciphers(name string) handshake.Offers {
	if c, ok := handshake.ParseCipher(name); ok {
		return handshake.OffersOf(c)
	}
	return handshake.Hardware()
}
