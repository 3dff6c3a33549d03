package ep

import (
	"crypto/rand"
	"encoding/binary"
	"net/netip"
	"sync"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/loop"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// carrier is the transport to one peer. The link calls the methods of the carrier: reach, call,
// kick, state and leave. The transport calls methods of the link: Pull returns a message to
// send, Deliver handles an arrived message, Advance and Deadline handle time, and Restarted
// reports a new process of the peer. The transport reports the status of a sent message to its
// srd.Owner.
type carrier struct {
	loop *loop.Loop
	open *sync.RWMutex // read-locked while sockets are used outside the loop; locked to close them
	core *srd.Conn
	made chan struct{} // closed as soon as peer is set
	peer *loop.Peer
}

// packet4 and packet6 are the UDP payload sizes to probe for. IPv4 and IPv6 packets with these
// payloads have 1,500 bytes, the MTU of Ethernet.
const (
	packet4 = 1472
	packet6 = 1452
)

func packet(t srd.Tuple) int {
	if t.Remote.Addr().Is6() {
		return packet6
	}
	return packet4
}

// connect gives a link its transport, which may call the link before connect() returns.
func (e *Endpoint) connect(key PublicKey, l *link) {
	var random [16]byte
	rand.Read(random[:])
	l.core = srd.New(srd.Config{
		Identity: e.id, Remote: handshake.PublicKey(key), Offers: handshake.Hardware(), Incarnation: binary.NativeEndian.Uint64(random[:]),
		Rand: rand.Reader, Indexes: e.loop.Indexes(), Addresses: e.loop.Addresses(), MTU: packet, Protocol: e.speaks,
		Timestamp: func(now mono.Time) handshake.Timestamp {
			return handshake.TimestampOf(time.Now().Add(now.Sub(e.loop.Now())))
		},
		Policy: steer.NewSpray(binary.NativeEndian.Uint64(random[8:])), Control: cc.New(0), HostDelay: e.loop.HostDelay,
	})
	l.loop, l.open = e.loop, &e.sockets
	e.loop.Add(l.core, l)
	close(l.made)
}

// lock locks the transport and its link.
func (c *carrier) lock() mono.Time { return c.peer.Lock() }
func (c *carrier) unlock()         { c.peer.Unlock() }

// reach sets the tuples on which the peer may be reachable. The caller has locked the carrier.
func (c *carrier) reach(now mono.Time, tuples []srd.Tuple) { c.core.SetTuples(now, tuples) }

// call begins a session with the peer if there is none. The caller has locked the carrier.
func (c *carrier) call(now mono.Time) { c.core.Connect(now) }

// kick sends all messages that Pull returns. The caller has not locked the carrier. The sockets
// stay open until kick() returns.
func (c *carrier) kick() {
	c.open.RLock()
	c.peer.Kick()
	c.open.RUnlock()
}

// leave sends a CLOSE to the peer and ends the transport. All pieces of messages in the
// transport get their final status. The caller has not locked the carrier.
func (c *carrier) leave() {
	c.open.RLock()
	c.loop.Remove(c.peer)
	c.open.RUnlock()
}

// standing is the state of a transport.
type standing struct {
	ready    bool   // there is a session
	foreign  bool   // the peer speaks another protocol
	goodbyes uint64 // number of CLOSE frames from the peer
	heard    uint64 // bytes received from the peer
}

// state returns the transport's state. The caller has locked the carrier.
func (c *carrier) state(now mono.Time) standing {
	s, n := c.core.Session(now), c.core.Stats()
	return standing{ready: s.Ready, foreign: s.Foreign && !s.Ready, goodbyes: n.Drops[srd.DropClosed], heard: n.RxBytes}
}

// measured fills in the transport's measurements. The caller has locked the carrier.
func (c *carrier) measured(now mono.Time, v *HandleStats) {
	n := c.core.Stats()
	v.Connected = c.core.Session(now).Ready
	v.RTT = c.core.RTT()
	v.Window, v.InFlight, _ = c.core.Window()
	v.Sent, v.Retransmitted, v.TxBytes, v.RxBytes = n.Sent, n.Retransmitted, n.TxBytes, n.RxBytes
	for _, p := range c.core.Paths() {
		v.Paths = append(v.Paths, PathStats{
			Local: p.Tuple.Local.Addr(), Remote: p.Tuple.Remote, Active: p.State == srd.PathActive, RTT: p.RTT, InFlight: p.InFlight,
		})
	}
}

// tuples returns the tuples from the endpoint to the given addresses. They are sorted by source
// port first. So if they exceed the largest number of paths, some source ports are left out,
// but no address.
func (e *Endpoint) tuples(addrs []netip.AddrPort) (v []srd.Tuple) {
	for i := range e.ports {
		for _, to := range addrs {
			if len(e.locals) == 0 {
				v = append(v, srd.Tuple{Sock: uint16(i), Remote: to})
			}
			for _, from := range e.locals {
				if from.Addr().Is4() == to.Addr().Is4() {
					v = append(v, srd.Tuple{Sock: uint16(i), Local: from, Remote: to})
				}
			}
		}
	}
	return v[:min(len(v), steer.MaxPaths)]
}
