package regress

import (
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/linkemu"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

var (
	downAlone  = figure{name: "16/1 line, download alone", unit: "Mbit/s"}
	downBeside = figure{name: "16/1 line, download beside an upload", unit: "Mbit/s"}
	upBeside   = figure{name: "16/1 line, upload beside a download", unit: "Mbit/s"}
)

const (
	adslDown  = 16.
	adslUp    = 1.
	adslQueue = 120 * 1514            // a modem's queue of 120 packets, in bytes
	adslWay   = 10 * time.Millisecond // each way, as in lab/accept
	adslTime  = 10 * time.Second
	adslFrom  = 3 * time.Second
	adslPort  = "5303"
)

var adsl = scene{
	name: "adsl", says: "a line of 16 Mbit/s down and 1 up",
	figures: []figure{downAlone, downBeside, upBeside},
	measure: func(r *run) error {
		home, far, err := r.line()
		if err != nil {
			return err
		}
		if _, err := r.pair(home, far, tunnel.Config{}); err != nil {
			return err
		}
		down := meter.Flow{Server: home, Client: far, To: tunnel.Inner4(1), For: adslTime}
		up := meter.Flow{Server: far, Client: home, To: tunnel.Inner4(2), For: adslTime, Port: adslPort}
		alone, err := rates(down)
		if err != nil {
			return err
		}
		both, err := rates(up, down)
		if err != nil {
			return err
		}
		r.set(downAlone, alone[0])
		r.set(upBeside, both[0])
		r.set(downBeside, both[1])
		return nil
	},
}

// line connects two hosts by the ADSL line.
func (r *run) line() (home, far *fabric.Host, err error) {
	d, err := fabric.NewDirect(fabric.DirectSpec{WireLike: true, Switch: true})
	if err != nil {
		return nil, nil, err
	}
	r.atEnd(d.Close)
	err = at(d.Switch, "ip link set "+fabric.SwitchToA+" nomaster", "ip link set "+fabric.SwitchToB+" nomaster")
	if err != nil {
		return nil, nil, err
	}
	var ways [2]*linkemu.Line
	for i, mbit := range [...]float64{adslUp, adslDown} {
		way := linkemu.Impairment{Delay: adslWay, RateBytesPerSec: int64(mbit * 1e6 / 8), LimitBytes: adslQueue}
		if ways[i], err = linkemu.NewLine(uint64(i), way); err != nil {
			return nil, nil, err
		}
	}
	return d.A, d.B, d.Switch.Do(func() error {
		cable, err := linkemu.Join(fabric.SwitchToA, fabric.SwitchToB, ways[0], ways[1])
		if err == nil {
			r.atEnd(cable.Close)
		}
		return err
	})
}

// rates runs flows at the same time, and returns each flow's goodput in Mbit/s after the first
// seconds.
func rates(all ...meter.Flow) (mbps []float64, err error) {
	var runs []*meter.Run
	for _, f := range all {
		r, err := meter.Start(f)
		if err != nil {
			return nil, err
		}
		defer r.Stop()
		runs = append(runs, r)
	}
	for _, r := range runs {
		if err := r.Wait(); err != nil {
			return nil, err
		}
		mbps = append(mbps, r.Sum().Mean(adslFrom, adslTime)/1e6)
	}
	return mbps, nil
}
