package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/srdtun/srdtun/lab"
	"github.com/srdtun/srdtun/scripts/picture"
)

// This file repeats figures of Shalev et al., IEEE Micro 2020. The paper's TCP has a minimum RTO of
// 50 ms.

func (p *paper) srdIncast() error {
	r, err := p.plan("srd-incast", "", nil)
	if err != nil {
		return err
	}
	for _, size := range []string{"64K", "2M", "8M"} {
		s, t := r.of("srd "+size).sum(), r.of("tcp-50ms "+size).sum()
		p.row(size+", SRD: longest / ideal", "close to 1", "%.2f", s.MaxRatio)
		p.row(size+", TCP: longest / ideal", "3 to 20", "%.1f", t.MaxRatio)
	}
	p.because("TCP with 64 KB is above the paper's range where one timeout of 50 ms is many times the ideal time of 0.25 ms.")
	p.pictures = append(p.pictures, r.longest().Figure)
	return nil
}

func (p *paper) srdTimes() error {
	r, err := p.plan("srd-incast", "2M", nil)
	if err != nil {
		return err
	}
	f := picture.Figure{X: "milliseconds", Y: "share of the flows", XLog: true, YMax: 1.02}
	for _, c := range r.cases {
		var v []float64
		late, slow, quick := 0, 0, 0
		for _, x := range c.runs {
			for _, f := range x.Flows {
				v = append(v, f.FCT/1e3)
				if f.FCT > 50e3 {
					late++
					continue
				}
				if quick++; f.FCT > 3*f.Ideal {
					slow++
				}
			}
		}
		f.Lines = append(f.Lines, cumulative(c.name, v))
		switch s := c.sum(); c.name {
		case "srd 2M":
			p.row("SRD: median, longest / ideal", "close to 1", "%.2f, %.2f", s.MedianRatio, s.MaxRatio)
		case "tcp-50ms 2M":
			p.row("TCP: flows above 50 ms", "the tail", "%.0f %%", 100*float64(late)/float64(len(v)))
			p.row("TCP: of the others, above 3 x ideal", "many", "%.0f %%", 100*float64(slow)/float64(max(1, quick)))
		}
	}
	p.because("This TCP ends near the ideal time, or waits for a timeout: the flows share one queue from the first packet. The paper does not say how many of its flows lie between.")
	p.pictures = append(p.pictures, f)
	return nil
}

// The paper takes a sample each second, for tens of seconds. Here the virtual time is shorter,
// because simulating a second at 100 Gbit/s takes minutes.
const (
	sharesLimit  = 600 * time.Millisecond
	sharesSample = 100 * time.Millisecond
)

func (p *paper) srdShares() error {
	r, err := p.plan("srd-persistent", "", func(x *lab.Plan) {
		x.Limit.Duration, x.Sample.Duration = sharesLimit, sharesSample
		x.Cases = slices.DeleteFunc(x.Cases, func(c lab.Case) bool { return c.Name != "srd" && c.Name != "tcp-50ms" })
	})
	if err != nil {
		return err
	}
	f := &figure{Figure: picture.Figure{X: "milliseconds", Y: "Gbit/s"}}
	for _, name := range []string{"srd", "tcp-50ms"} {
		c := r.of(name)
		s := c.sum()
		most := 0.0
		for _, row := range c.runs[0].Samples[1:] {
			for _, b := range row {
				most = max(most, float64(b)*8/c.runs[0].Sample*1e-3)
			}
		}
		says := "2, of all flows"
		if name != "srd" {
			says = "much below to much above 2"
		}
		p.row(name+": least and most of a flow, Gbit/s", says, "%.2f, %.2f (mean %.2f)", s.Least*s.Goodput, most, s.Goodput)
		f.addSamples(c)
	}
	p.because(fmt.Sprintf("Samples here are of %v, the paper's of 1 s: a longer sample would be smoother for TCP too.", sharesSample))
	p.pictures = append(p.pictures, f.Figure)
	return nil
}

func (p *paper) srdAtOnce() error {
	p.because("With 16 flows of each host at once, a flow has a sixteenth of its host's rate, so ECMP does little harm.")
	return p.srdEcmp("at once")
}

func (p *paper) srdInTurn() error {
	p.because("Each flow has its host's whole rate, so two flows on one uplink take twice their time. The paper's text does not say how many flows of a host run at a time; it lies between the two readings.")
	return p.srdEcmp("in turn")
}

func (p *paper) srdEcmp(reading string) error {
	r, err := p.plan("srd-ecmp", reading, nil)
	if err != nil {
		return err
	}
	s, t := r.of("srd "+reading).sum(), r.of("tcp-50ms "+reading).sum()
	p.row("SRD: median / ideal", "1.15", "%.2f", s.MedianRatio)
	p.row("SRD: longest / mean of TCP", "below 1", "%.2f", s.Max/t.Mean)
	p.row("TCP: mean / ideal", "1.5", "%.2f", t.MeanRatio)
	p.row("TCP: 99th percentile, longest / ideal", "10 to 100", "%.1f, %.1f", t.P99Ratio, t.MaxRatio)
	f := picture.Figure{X: "microseconds", Y: "share of the flows", XLog: true, YMax: 1.02}
	for _, c := range r.cases {
		f.Lines = append(f.Lines, picture.Line{Name: c.name, Points: distribution(c.runs)})
	}
	p.pictures = append(p.pictures, f)
	return nil
}

// steady returns the mean goodput of all flows in Gbit/s, without the first third of the samples.
func steady(runs []*lab.Result) float64 {
	bytes, us := int64(0), 0.0
	for _, r := range runs {
		for _, row := range r.Samples[len(r.Samples)/3:] {
			us += r.Sample
			for _, b := range row {
				bytes += b
			}
		}
	}
	return float64(bytes) * 8 / us * 1e-3
}
