package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

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

// Ping implements control.Handler.
func (s *server) Ping(ctx context.Context, peer string, every bool) (control.Pings, error) {
	p, err := s.running.byName(peer)
	if err != nil {
		return control.Pings{}, err
	}
	if !p.pings.mu.TryLock() {
		return control.Pings{}, fmt.Errorf("peer %s is being pinged already; try again", p.title())
	}
	defer p.pings.mu.Unlock()
	if !pause(ctx, max(0, time.Until(p.pings.last.Add(pingEvery)))) {
		return control.Pings{}, ctx.Err()
	}
	p.pings.last = time.Now()
	if err := p.meet(ctx); err != nil {
		return control.Pings{}, err
	}
	v := control.Pings{Peer: p.title()}
	for _, m := range p.measure(ctx, every) {
		v.Paths = append(v.Paths, control.Ping{
			Slot: m.Slot, Local: s.sockets.local(m.Tuple), Interface: s.uplinks.interfaceOf(m.Tuple.Local), Remote: m.Tuple.Remote.String(), RTTUs: m.RTT.Microseconds(),
		})
	}
	if len(v.Paths) == 0 {
		return v, fmt.Errorf("peer %s: there is no path", p.title())
	}
	return v, nil
}

// byName returns the peer of this name, public key or address inside the tunnel. The only one
// needs no name.
func (rc *runningConfig) byName(name string) (*peer, error) {
	public, err := config.ParseKey(name)
	for _, p := range rc.peers() {
		if p.cfg().Name == name && name != "" || err == nil && p.cfg().PublicKey == public {
			return p, nil
		}
	}
	if all := rc.peers(); name == "" && len(all) == 1 {
		return all[0], nil
	}
	if a, err := netip.ParseAddr(name); err == nil {
		at := rc.Load()
		if i, ok := at.table.Lookup(a); ok {
			return at.peers[i], nil
		}
		return nil, fmt.Errorf("no peer has %v in its allowed_ips", a)
	}
	return nil, fmt.Errorf("no peer is named %.64q", name)
}

// meet waits until there is a session, after calling the peer if need be.
func (p *peer) meet(ctx context.Context) error {
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
