package srd_test

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/steer"
)

// policy returns a policy by name.
func policy(t testing.TB, name string, seed uint64) steer.Policy {
	t.Helper()
	p, err := steer.New(name, steer.Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func fourLinks() []*link {
	var v []*link
	for range 4 {
		v = append(v, &link{rate: 12.5e6, delay: 100 * time.Microsecond, limit: 50 * time.Millisecond})
	}
	return v
}

// offer gives each host n messages of several flows to send.
func (p *pair) offer(n int) {
	for _, h := range p.host {
		h.src.left, h.src.size, h.src.flow = n, 900, 12
		h.service()
	}
}

// done reports whether both hosts have received n messages, and the acknowledgements of
// their own.
func (p *pair) done(n int) bool {
	return len(p.host[0].got) >= n && len(p.host[1].got) >= n && !p.host[0].conn.Backlog() && !p.host[1].conn.Backlog()
}

// With every policy, all messages arrive exactly once on a network that loses, reorders and
// duplicates packets.
func TestEveryPolicyDelivers(t *testing.T) {
	for i, name := range steer.Names() {
		t.Run(name, func(t *testing.T) {
			links := fourLinks()
			for _, l := range links {
				l.loss, l.dup, l.swap = 0.01, 0.01, 0.02
			}
			p := newPair(t, uint64(i), links...)
			p.connect()
			for side, h := range p.host {
				h.conn.SetPolicy(policy(t, name, uint64(side)))
			}
			const n = 3000
			p.offer(n)
			p.run(10*time.Second, func() bool { return p.done(n) })
			p.wantAll(0, n)
			p.wantAll(1, n)
		})
	}
}

// The policy may change at any time, and no payload is lost. (Some retransmissions are
// spurious: a window for four links makes a queue if all its packets are sent on one link.)
func TestPolicyChangesWhileRunning(t *testing.T) {
	p := newPair(t, 99, fourLinks()...)
	p.connect()
	p.run(time.Second, never)
	const n = 20000
	p.offer(n)
	names, changes := steer.Names(), 0
	for ; changes < 500 && !p.done(n); changes++ {
		for side, h := range p.host {
			h.conn.SetPolicy(policy(t, names[(changes+5*side)%len(names)], uint64(changes)))
		}
		p.run(5*time.Millisecond, never)
	}
	if changes < 2*len(names) {
		t.Fatalf("all was over after %d changes", changes)
	}
	p.wantAll(0, n)
	p.wantAll(1, n)
	for side, h := range p.host {
		if s := h.conn.Stats(); s.GivenUp > 0 {
			t.Errorf("side %d: %d given up", side, s.GivenUp)
		}
	}
}

// The other end measures and reports that one link is slow, and the policy then avoids this
// link.
func TestCongaLeavesTheSlowLink(t *testing.T) {
	links := fourLinks()
	links[2].rate /= 10
	p := newPair(t, 7, links...)
	p.connect()
	p.run(time.Second, never)
	c, err := steer.New("conga", steer.Options{FlowletTimeout: 10 * time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	p.host[0].conn.SetPolicy(c)
	for i := range links {
		links[i].sent = [2]int{}
	}
	h := p.host[0]
	h.src.left, h.src.size, h.src.flow = 20000, 1300, 50
	h.service()
	p.run(20*time.Second, func() bool { return len(p.host[1].got) == 20000 && !h.conn.Backlog() })
	p.wantAll(1, 20000)
	t.Logf("packets by link: %d %d %d %d", links[0].sent[0], links[1].sent[0], links[2].sent[0], links[3].sent[0])
	for _, i := range []int{0, 1, 3} {
		if 4*links[2].sent[0] > links[i].sent[0] {
			t.Errorf("%d packets on the slow link, %d on another", links[2].sent[0], links[i].sent[0])
		}
	}
}
