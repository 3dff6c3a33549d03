package swarm

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim/foe"
	"github.com/srdtun/srdtun/sim/host"
	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd/handshake"
)

// siegePlan is a siege of two hosts on a clean network.
func siegePlan(seed uint64, rtt time.Duration, change func(*plan)) *plan {
	q := net.Quality{Rate: 100 * mbit, Delay: rtt / 4, MTU: 1500, Queue: strictQueue}
	p := &plan{rng: rand.New(rand.NewPCG(seed, 1)), kind: kindSiege, rtt: rtt, trouble: 8 * time.Second, attack: 10 * time.Millisecond}
	p.spec = FabricSpec{Spines: 2, NAT: make([]bool, 2), Passive: make([]bool, 2)}
	for range 2 {
		p.spec.Hosts = append(p.spec.Hosts, host.Config{Ports: 8, MTU: 1472, KeyLife: shortestLife, Offers: handshake.OffersOf(handshake.AES256GCM)})
		p.spec.Cables = append(p.spec.Cables, [][2]net.Quality{{q, q}, {q, q}})
	}
	p.foes = foe.Strangers{Mute: 4, Mail: 2, Ports: 50}
	change(p)
	return p
}

// besiegedBy runs a siege, and fails if an invariant is violated.
func besiegedBy(t *testing.T, seed uint64, rtt time.Duration, change func(*plan)) *swarm {
	t.Helper()
	e := net.NewEngine(seed, nil)
	p := siegePlan(seed, rtt, change)
	s := newSwarm(e, p)
	s.play()
	if err := s.Audit.Err(); err != nil {
		t.Errorf("seed %d, rtt %v: %v", seed, rtt, err)
	}
	return s
}

// Strangers and observers use one kind of attack whenever they can. Meanwhile messages
// arrive and keys are renewed, and no host uses an address at which no peer is.
func TestSieges(t *testing.T) {
	for name, change := range map[string]func(f *foe.Strangers){
		"every packet raced half the time":   func(f *foe.Strangers) { f.Race = 0.5 },
		"every packet raced from 300 ports":  func(f *foe.Strangers) { f.Race, f.Ports = 0.6, 300 },
		"every handshake lured":              func(f *foe.Strangers) { f.Lure = 1 },
		"every initiation copied by a crowd": func(f *foe.Strangers) { f.Crowd = 1 },
		"a false cookie for each initiation": func(f *foe.Strangers) { f.Cookies = 1 },
		"a false response for each":          func(f *foe.Strangers) { f.Responses = 1 },
		"all at once":                        func(f *foe.Strangers) { f.Race, f.Lure, f.Crowd, f.Cookies, f.Responses = 0.3, 0.5, 0.3, 0.8, 0.8 },
	} {
		t.Run(name, func(t *testing.T) {
			for i, rtt := range []time.Duration{40 * time.Millisecond, time.Millisecond, 150 * time.Millisecond} {
				if testing.Short() && i > 0 {
					return
				}
				for _, passive := range []bool{false, true} {
					besiegedBy(t, uint64(i), rtt, func(p *plan) {
						p.trouble = 20 * time.Second
						p.spec.Passive[1] = passive
						change(&p.foes)
					})
				}
			}
		})
	}
}

// A flood of initiations with a valid mac1 arrives at both hosts during their first
// handshake. They get a session all the same.
func TestSiegeByFlood(t *testing.T) {
	const rate, share = 2e5, 5 // a fifth of a second
	for kind := range foe.NumFloods {
		besiegedBy(t, 1, 20*time.Millisecond, func(p *plan) {
			p.trouble = 3 * time.Second
			p.attack = time.Second
			for host := range p.spec.Hosts {
				p.foes.Floods = append(p.foes.Floods, foe.Flood{Host: host, At: 5 * time.Millisecond, Kind: kind, N: rate / share, Rate: rate})
			}
		})
	}
}

// A peer uses one kind of lie. Other peers are not affected.
func TestEachLie(t *testing.T) {
	for i, a := range foe.Acts {
		if testing.Short() && i%3 > 0 {
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			for _, known := range []bool{false, true} {
				besiegedBy(t, uint64(i), 10*time.Millisecond, func(p *plan) {
					p.attack = 0
					p.lies = foe.Lies{Every: 20 * time.Millisecond, Acts: []int{i}, Ports: 200, Known: known, Honest: 0.8, Delay: 5 * time.Millisecond, Rate: 10 * mbit}
				})
			}
		})
	}
}
