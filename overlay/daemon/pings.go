package daemon

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// pings is the turn of those who measure a peer's paths.
type pings struct {
	mu   sync.Mutex // held while it is pinged
	last time.Time  // when that was last begun
}

const (
	// pingWait is how long answers are waited for. A path that takes longer is no use.
	pingWait = time.Second
	// pingCall is how long a session is waited for, if there is none: three tries of a
	// handshake. Both together are well below what a control connection may take.
	pingCall = 2 * time.Second
	// pingEvery is how far apart two rounds to one peer are at least, whoever asks: a round
	// is a packet on each path, 256 of 70 bytes at most.
	pingEvery = 200 * time.Millisecond
	// pingPoll is how often it is looked whether answers have come. It is no part of the
	// times that are measured.
	pingPoll = 5 * time.Millisecond
)

// awaitSession waits until there is a session, after calling the peer if need be.
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
		if !pause(ctx, pingPoll) {
			return ctx.Err()
		}
	}
	return errors.New("no session: the peer does not answer")
}

// measure measures every path, or one for each pair of addresses, and returns what was
// found when all have answered, or pingWait is over.
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
		if !open || !pause(ctx, pingPoll) {
			break
		}
		p.link.Do(func(_ mono.Time, c *srd.Conn) { v, open = c.Measurement() })
	}
	p.link.Do(func(_ mono.Time, c *srd.Conn) { c.EndMeasure() })
	return v
}

// onePerPair returns the slot of one path for each pair of addresses, one that works if
// there is one.
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
