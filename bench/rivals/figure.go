package rivals

import (
	"fmt"
	"strings"

	"github.com/srdtun/srdtun/scripts/picture"
)

// panel is a metric that the picture shows.
type panel struct {
	net   network
	m     metric
	title string
	unit  string
	scale float64
}

// panels lists the metrics of the picture, all from the most realistic network.
var panels = []panel{
	{realVeth, metric{rowTCP1, gbps, "", false}, "One TCP flow", "Gbit/s, more is better", 1},
	{realVeth, metric{rowTCP8, gbps, "", false}, "Eight TCP flows", "Gbit/s, more is better", 1},
	{realVeth, metric{rowUDP64, kpps, "", false}, "64-byte UDP without loss", "1,000 packets/s, more is better", 1},
	{realVeth, metric{rowTCP1, cpuPerGB, "", true}, "Processor time, one flow", "CPU s per GB, both ends, less is better", 1},
	{realVeth, metric{rowPing, p99us, "", true}, "Idle ping, p99", "us, less is better", 1},
	{realVeth, metric{rowRTTLoad, p99us, "", true}, "Requests beside a bulk flow, p99", "ms, less is better", 1e-3},
}

func newFigure(a about, r results) picture.Figure {
	return picture.Figure{
		Title:    "Both ends on one machine, packets of MTU size on a veth",
		Subtitle: a.subtitle(fmt.Sprintf(", %.40s", a.Machine)),
		Panels:   drawn(r, panels, tables[0].kinds),
	}
}

// subtitle returns a line with the time and the machine of the measurement.
func (a about) subtitle(more string) string {
	release, _, _ := strings.Cut(a.Kernel, "-")
	day, _, _ := strings.Cut(a.Date, " ")
	return fmt.Sprintf("Median and range of %d rounds, %s, Linux %s%s", a.Rounds, day, release, more)
}

// drawn returns the panels that have measured values.
func drawn(r results, panels []panel, kinds []kind) (all []picture.Panel) {
	for _, p := range panels {
		v := picture.Panel{Title: p.title, Unit: p.unit}
		for _, k := range kinds {
			s := r.get(p.net.name, k.name, p.m).spread()
			if s.n == 0 {
				continue
			}
			v.Bars = append(v.Bars, picture.Bar{Name: shortTitle(k), Value: s.median * p.scale, Low: s.least * p.scale, High: s.most * p.scale, Tone: tone(k)})
		}
		if len(v.Bars) > 0 {
			all = append(all, v)
		}
	}
	return all
}

// shortTitle returns a title short enough to fit next to a bar.
func shortTitle(k kind) string {
	return strings.NewReplacer("kernel MPTCP", "MPTCP, in clear").Replace(k.title)
}

func tone(k kind) picture.Tone {
	switch k.name {
	case srdtun.name:
		return picture.Own
	case plainTCP.name, mptcp.name, oneTuple.name:
		return picture.Orient
	}
	return picture.Other
}

// draw writes the picture, unless no values were measured.
func draw(plot, out string, a about, r results) (drawn bool, err error) {
	f := newFigure(a, r)
	if a.Cloud {
		f = cloudFigure(a, r)
	}
	if len(f.Panels) == 0 {
		return false, nil
	}
	return true, picture.Draw(plot, out, f)
}
