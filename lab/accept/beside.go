package main

import (
	"fmt"
	"time"

	"github.com/srdtun/srdtun/lab"
)

// rivals is a scene in which flows in a tunnel compete with plain TCP on the same links.
type rivals struct {
	inside, plain int // number of flows
	links         int
	queue         int
	buffer        string
	limit, skip   time.Duration
	police        float64 // rate of a policer in Mbit/s; 0: no policer
}

const (
	linkMbit = 100
	linkWay  = 50 * time.Microsecond // one-way delay of a link; short, because the buffers are long
	// deepQueue is the size in bytes of a queue of 200 ms at 100 Mbit/s.
	deepQueue = 2500 << 10
	// fairLeast and fairMost bound the ratio of a rate to the fair share.
	fairLeast, fairMost = 0.5, 2
	// policedLeast is the share of the fair rate that a plain flow must keep behind a policer. A
	// policer has no queue, so senders cannot measure a queueing delay there.
	policedLeast = 0.3
	// idleLink is the largest share of the links' capacity that all flows together may leave
	// unused.
	idleLink = 0.15
)

func besideScenes() (v []*scene) {
	const short, long = 12 * time.Second, 40 * time.Second
	for _, n := range [][2]int{{1, 1}, {4, 4}, {1, 4}, {4, 1}} {
		v = append(v, besideScene(rivals{inside: n[0], plain: n[1], links: 1, queue: homeQueue, buffer: "20 ms", limit: short, skip: 4 * time.Second}))
		v = append(v, besideScene(rivals{inside: n[0], plain: n[1], links: 1, queue: deepQueue, buffer: "200 ms", limit: long, skip: 15 * time.Second}))
	}
	for _, n := range [][2]int{{4, 4}, {1, 4}} {
		v = append(v, besideScene(rivals{inside: n[0], plain: n[1], links: 4, queue: homeQueue, buffer: "20 ms", limit: short, skip: 4 * time.Second}))
	}
	return append(v, policedScene())
}

func besideScene(x rivals) *scene {
	share, use := "of its fair share", "links in use"
	return &scene{
		name: fmt.Sprintf("beside %d:%d on %d x %d, %s", x.inside, x.plain, x.links, linkMbit, x.buffer),
		cost: x.limit.Seconds() * float64(x.links) / 8,
		figures: []figure{
			{name: share, unit: "x", goal: between(fairLeast, fairMost)},
			{name: use, unit: "x", goal: atLeast(1 - idleLink)},
		},
		measure: func(r *round) error {
			inside, outside, _, err := x.play(r)
			if err != nil {
				return err
			}
			r.set(share, x.fair(inside, outside))
			r.set(use, (inside+outside)/float64(linkMbit*x.links))
			return nil
		},
	}
}

// fair returns a tunnelled flow's rate divided by the mean rate of all flows.
func (x *rivals) fair(inside, outside float64) float64 {
	n, m := float64(x.inside), float64(x.plain)
	return inside / n / ((inside + outside) / (n + m))
}

func (x *rivals) play(r *round) (inside, outside, lost float64, err error) {
	link := lab.UplinkPlan{Mbit: linkMbit, Delay: d(linkWay)}
	if x.police > 0 {
		link = lab.UplinkPlan{Mbit: 10 * linkMbit, Delay: d(policedWay), Police: x.police, Credit: policedCredit}
	}
	var links []lab.UplinkPlan
	for range x.links {
		links = append(links, link)
	}
	outer := endless("plain", plain, 0, 1, x.plain)
	outer.Start = d(5 * time.Millisecond)
	res, err := r.play(trial{limit: x.limit, queue: x.queue, Case: lab.Case{
		Uplinks: links, Flows: []lab.FlowPlan{endless("tunnel", srdtun, 0, 1, x.inside), outer},
	}})
	if err != nil {
		return 0, 0, 0, err
	}
	return rate(res, "tunnel", x.skip, x.limit), rate(res, "plain", x.skip, x.limit), waste(res), nil
}

// These constants describe the policer of a provider. It drops all packets above its rate, and
// queues none.
const (
	policedMbit   = 20
	policedWay    = 10 * time.Millisecond
	policedCredit = 60_000
	policedWaste  = 0.1
)

func policedScene() *scene {
	x := rivals{inside: 1, plain: 1, links: 1, police: policedMbit, limit: 20 * time.Second, skip: 5 * time.Second}
	return &scene{
		name: "policer", cost: 1.5,
		figures: []figure{
			{name: "a plain flow beside, of its fair share", unit: "x", goal: atLeast(policedLeast)},
			{name: "the flow inside, of its fair share", unit: "x", goal: atLeast(policedLeast)},
			{name: "packets dropped", unit: "x", goal: atMost(policedWaste)},
		},
		measure: func(r *round) error {
			inside, outside, lost, err := x.play(r)
			if err != nil {
				return err
			}
			r.set("a plain flow beside, of its fair share", 2*outside/(inside+outside))
			r.set("the flow inside, of its fair share", 2*inside/(inside+outside))
			r.set("packets dropped", lost)
			return nil
		},
	}
}
