package main

import (
	"time"

	"github.com/srdtun/srdtun/lab"
)

// These constants describe an ADSL line. Its modem buffers 120 packets, which take 1.4 s to upload.
const (
	adslDown  = 16.
	adslUp    = 1.
	adslQueue = 120 * 1514
	adslWay   = 10 * time.Millisecond
	adslLimit = 20 * time.Second
	adslSkip  = 5 * time.Second
)

// adslScene downloads to host 0, alone and beside an upload, and compares the rates with plain TCP.
func adslScene() *scene {
	link := lab.UplinkPlan{Mbit: adslUp, Back: adslDown, Delay: d(adslWay), Queue: adslQueue}
	play := func(r *round, transport string, both bool) (down, up float64, err error) {
		flows := []lab.FlowPlan{endless("down", transport, 1, 0, 1)}
		if both {
			flows = append(flows, endless("up", transport, 0, 1, 1))
		}
		res, err := r.play(trial{limit: adslLimit, Case: lab.Case{Uplinks: []lab.UplinkPlan{link}, Flows: flows}})
		if err != nil {
			return 0, 0, err
		}
		down = rate(res, "down", adslSkip, adslLimit)
		if both {
			up = rate(res, "up", adslSkip, adslLimit)
		}
		return down, up, nil
	}
	const (
		alone  = "download alone, of plain TCP's"
		beside = "download beside an upload, of plain TCP's"
		up     = "upload beside a download"
		here   = "download beside an upload"
	)
	return &scene{
		name: "adsl 16/1", cost: 2,
		figures: []figure{
			{name: alone, unit: "x", goal: atLeast(0.95)}, {name: beside, unit: "x", goal: atLeast(0.8)},
			{name: here, unit: "Mbit/s"}, {name: up, unit: "Mbit/s"},
		},
		measure: func(r *round) error {
			a, _, err := play(r, srdtun, false)
			if err != nil {
				return err
			}
			b, _, err := play(r, plain, false)
			if err != nil {
				return err
			}
			x, xUp, err := play(r, srdtun, true)
			if err != nil {
				return err
			}
			y, _, err := play(r, plain, true)
			if err != nil {
				return err
			}
			r.set(alone, a/b)
			r.set(beside, x/y)
			r.set(here, x)
			r.set(up, xUp)
			return nil
		},
	}
}

// These constants describe a long path with random losses, such as a satellite link.
const (
	longThere = 20.
	longBack  = 4.
	longWay   = 300 * time.Millisecond // one-way delay
	longLoss  = 0.005
	longLimit = 20 * time.Second
	longQueue = 512 << 10
)

// longScene sends one flow over a long path, first in one direction and then in the other. It
// compares the rates with those of plain TCP.
func longScene() *scene {
	link := lab.UplinkPlan{Mbit: longThere, Back: longBack, Delay: d(longWay), Loss: longLoss, Queue: longQueue}
	const there, back, here, hereBack = "there, of plain TCP's", "back, of plain TCP's", "there", "back"
	one := func(r *round, transport string, src, dst int) (float64, error) {
		res, err := r.play(trial{limit: longLimit, Case: lab.Case{Uplinks: []lab.UplinkPlan{link}, Flows: []lab.FlowPlan{endless("", transport, src, dst, 1)}}})
		if err != nil {
			return 0, err
		}
		return rate(res, "", 0, longLimit), nil
	}
	return &scene{
		name: "long way", cost: 2,
		figures: []figure{{name: there, unit: "x", goal: atLeast(0.95)}, {name: back, unit: "x", goal: atLeast(0.95)}, {name: here, unit: "Mbit/s"}, {name: hereBack, unit: "Mbit/s"}},
		measure: func(r *round) error {
			for _, x := range []struct {
				src, dst    int
				ratio, mbit string
			}{{0, 1, there, here}, {1, 0, back, hereBack}} {
				ours, err := one(r, srdtun, x.src, x.dst)
				if err != nil {
					return err
				}
				theirs, err := one(r, plain, x.src, x.dst)
				if err != nil {
					return err
				}
				r.set(x.ratio, ours/theirs)
				r.set(x.mbit, ours)
			}
			return nil
		},
	}
}

// These constants describe two uplinks of 60 and 40 Mbit/s, the second of which fails for 8 s.
const (
	uplinkGoes  = 6 * time.Second
	uplinkAway  = 8 * time.Second
	uplinkFull  = 3 * time.Second // after this time since the recovery, the rate must be as before the failure
	uplinkLimit = uplinkGoes + uplinkAway + uplinkFull + 3*time.Second
	uplinkWay   = 5 * time.Millisecond
	uplinkQueue = 50 * time.Millisecond
)

func uplinkScene() *scene {
	var links []lab.UplinkPlan
	for _, mbit := range []float64{60, 40} {
		links = append(links, lab.UplinkPlan{Mbit: mbit, Delay: d(uplinkWay), Queue: int(mbit * 1e6 / 8 * uplinkQueue.Seconds())})
	}
	const back, away = "3 s after it came back, of before; worst seed", "while it is away"
	return &scene{
		name: "an uplink dead for 8 s", cost: 2,
		figures: []figure{{name: back, unit: "x", goal: atLeast(0.9), worst: true}, {name: away, unit: "Mbit/s"}},
		measure: func(r *round) error {
			comes := uplinkGoes + uplinkAway
			res, err := r.play(trial{limit: uplinkLimit, Case: lab.Case{
				Uplinks: links, Addresses: lab.AddressPlan{From: len(links), To: 1, Own: true},
				Flows:  []lab.FlowPlan{endless("", srdtun, 0, 1, 1)},
				Faults: []lab.FaultPlan{{Kind: "dead", At: d(uplinkGoes), For: d(uplinkAway), Cables: []int{1}}},
			}})
			if err != nil {
				return err
			}
			before := rate(res, "", uplinkGoes-3*time.Second, uplinkGoes)
			r.set(back, rate(res, "", comes+uplinkFull, comes+uplinkFull+2*time.Second)/before)
			r.set(away, rate(res, "", uplinkGoes+2*time.Second, comes))
			return nil
		},
	}
}

// sizeScene measures the outer packet size on paths with an MTU of 1,500 bytes, after ten seconds
// of load.
func sizeScene() *scene {
	const least = "smallest full packet of a path in use after 10 s"
	const limit = 10 * time.Second
	return &scene{
		name: "packet size under load", cost: 4,
		figures: []figure{{name: least, unit: "bytes", goal: atLeast(mtu - 28)}},
		measure: func(r *round) error {
			res, err := r.play(trial{limit: limit, Case: lab.Case{
				Uplinks: fabric(mtu), Addresses: lab.AddressPlan{From: 4, To: 4},
				Flows: []lab.FlowPlan{endless("", srdtun, 0, 1, 8)},
			}})
			if err != nil {
				return err
			}
			r.set(least, float64(res.Stats[srdtun].LeastPacket))
			return nil
		},
	}
}
