package sim

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
)

// siegePlan is a siege of two hosts on a clean network.
func siegePlan(seed uint64, rtt time.Duration, change func(*plan)) *plan {
	q := Quality{Rate: 100 * mbit, Delay: rtt / 4, MTU: 1500, Queue: strictQueue}
	p := &plan{rng: rand.New(rand.NewPCG(seed, 1)), kind: kindSiege, rtt: rtt, trouble: 8 * time.Second, attack: 10 * time.Millisecond}
	p.spec = FabricSpec{Spines: 2, NAT: make([]bool, 2), Passive: make([]bool, 2)}
	for range 2 {
		p.spec.Hosts = append(p.spec.Hosts, HostConfig{Ports: 8, MTU: 1472, KeyLife: shortestLife, Offers: handshake.OffersOf(handshake.AES256GCM)})
		p.spec.Cables = append(p.spec.Cables, [][2]Quality{{q, q}, {q, q}})
	}
	p.foes = foes{mute: 4, mail: 2, ports: 50}
	change(p)
	return p
}

// besiegedBy plays a siege and fails on what must not be.
func besiegedBy(t *testing.T, seed uint64, rtt time.Duration, change func(*plan)) *swarm {
	t.Helper()
	e := NewEngine(seed, nil)
	p := siegePlan(seed, rtt, change)
	s := newSwarm(e, p)
	s.play()
	if err := s.Audit.Err(); err != nil {
		t.Errorf("seed %d, rtt %v: %v", seed, rtt, err)
	}
	return s
}

// Each thing that strangers and observers do, done each time that it can be: all goes on
// meanwhile, and nothing is sent where nobody is. Keys are renewed in it.
func TestSieges(t *testing.T) {
	for name, change := range map[string]func(f *foes){
		"every packet raced half the time":   func(f *foes) { f.race = 0.5 },
		"every packet raced from 300 ports":  func(f *foes) { f.race, f.ports = 0.6, 300 },
		"every handshake lured":              func(f *foes) { f.lure = 1 },
		"every initiation copied by a crowd": func(f *foes) { f.crowd = 1 },
		"a false cookie for each initiation": func(f *foes) { f.cookies = 1 },
		"a false response for each":          func(f *foes) { f.responses = 1 },
		"all at once":                        func(f *foes) { f.race, f.lure, f.crowd, f.cookies, f.responses = 0.3, 0.5, 0.3, 0.8, 0.8 },
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

// A flood of handshakes with the right mac1 at both hosts, while they meet, keeps no
// peers apart.
func TestSiegeByFlood(t *testing.T) {
	const rate, share = 2e5, 5 // of a second
	for kind := range numFloods {
		besiegedBy(t, 1, 20*time.Millisecond, func(p *plan) {
			p.trouble = 3 * time.Second
			p.attack = time.Second
			for host := range p.spec.Hosts {
				p.foes.floods = append(p.foes.floods, flood{host: host, at: 5 * time.Millisecond, kind: kind, n: rate / share, rate: rate})
			}
		})
	}
}

// Each lie, told by a peer that tells no other: nobody else has anything of it.
func TestEachLie(t *testing.T) {
	for i, a := range acts {
		if testing.Short() && i%3 > 0 {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			for _, known := range []bool{false, true} {
				besiegedBy(t, uint64(i), 10*time.Millisecond, func(p *plan) {
					p.attack = 0
					p.lies = lies{every: 20 * time.Millisecond, acts: []int{i}, ports: 200, known: known, honest: 0.8, delay: 5 * time.Millisecond, rate: 10 * mbit}
				})
			}
		})
	}
}
