package daemon

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/srdtun/srdtun/internal/pause"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// pings lets one request at a time measure the round trips of a peer's paths.
type pings struct {
	mu   sync.Mutex // locked during a round
	last time.Time  // start of the latest round
}

const (
	// pingWait bounds the wait for the replies to probes. A path with a longer round trip is
	// useless.
	pingWait = time.Second
	// pingCall bounds the wait for a session if there is none. Two seconds allow three handshake
	// attempts. Together pingWait and pingCall are well below the time limit of a control
	// connection.
	pingCall = 2 * time.Second
	// pingEvery is the shortest time between two rounds of probes to one peer, for all requests
	// together. A round sends a packet of 70 bytes on each path, at most 256 packets.
	pingEvery = 200 * time.Millisecond
	// pingPoll is the interval at which replies are collected. The interval does not affect the
	// measured round trips.
	pingPoll = 5 * time.Millisecond
)

// awaitSession waits for a session, and starts a handshake if there is none.
func (p *peer) awaitSession(ctx context.Context) error {
	ready := func() (ok bool) {
		p.link.Do(func(now mono.Time, c *srd.Conn) {
			if ok = c.Session(now).Ready; !ok {
				c.Greet(now)
			}
		})
		return ok
	}
	for range pingCall / pingPoll {
		if ready() {
			return nil
		}
		p.link.Kick()
		if !pause.For(ctx, pingPoll) {
			return ctx.Err()
		}
	}
	return errors.New("no session: the peer does not answer")
}

// measure sends a probe on every path, or on one path for each pair of addresses. The method
// measure() returns when all paths have answered, or after pingWait.
func (p *peer) measure(ctx context.Context, every bool) (v []srd.Measured) {
	p.link.Do(func(now mono.Time, c *srd.Conn) {
		if every {
			c.Measure(now, nil)
			return
		}
		chosen := onePerPair(c.Paths())
		c.Measure(now, func(i *srd.PathInfo) bool { return chosen[i.Slot] })
	})
	p.link.Kick()
	open := true
	for range pingWait / pingPoll {
		if !open || !pause.For(ctx, pingPoll) {
			break
		}
		p.link.Do(func(_ mono.Time, c *srd.Conn) { v, open = c.Measurement() })
	}
	p.link.Do(func(_ mono.Time, c *srd.Conn) { c.EndMeasure() })
	return v
}

// onePerPair returns the slot of one path for each pair of addresses. The function onePerPair
// prefers an active path.
func onePerPair(paths []srd.PathInfo) map[uint16]bool {
	type ends struct {
		local  srd.Uplink
		remote netip.Addr
	}
	best := map[ends]srd.PathInfo{}
	for _, p := range paths {
		k := ends{p.Tuple.Local, p.Tuple.Remote.Addr()}
		if b, ok := best[k]; !ok || b.State != srd.PathActive && p.State == srd.PathActive {
			best[k] = p
		}
	}
	v := map[uint16]bool{}
	for _, p := range best {
		v[p.Slot] = true
	}
	return v
}
