package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

// figure is srdplot's input for panels of bars.
type figure struct {
	Title    string  `json:"title"`
	Subtitle string  `json:"subtitle"`
	Panels   []panel `json:"panels"`
}

type panel struct {
	Title string `json:"title"`
	Unit  string `json:"unit"`
	Bars  []bar  `json:"bars"`
}

// bar is a median with the range around it. Tone 0 is what is shown off, 1 what
// it is compared with, 2 what is there for orientation.
type bar struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Tone  int     `json:"tone"`
}

// panels are the metrics that are drawn, all of the network that is most like a
// real one.
var panels = []struct {
	m     metric
	title string
	unit  string
	scale float64
}{
	{metric{rowTCP1, gbps, "", false}, "One TCP flow", "Gbit/s, more is better", 1},
	{metric{rowTCP8, gbps, "", false}, "Eight TCP flows", "Gbit/s, more is better", 1},
	{metric{rowUDP64, kpps, "", false}, "64-byte UDP without loss", "1,000 packets/s, more is better", 1},
	{metric{rowTCP1, cpuPerGB, "", true}, "Processor time, one flow", "CPU s per GB, both ends, less is better", 1},
	{metric{rowPing, p99us, "", true}, "Idle ping, p99", "us, less is better", 1},
	{metric{rowRTTLoad, p99us, "", true}, "Requests beside a bulk flow, p99", "ms, less is better", 1e-3},
}

func newFigure(a about, r results) figure {
	release, _, _ := strings.Cut(a.Kernel, "-")
	day, _, _ := strings.Cut(a.Date, " ")
	f := figure{
		Title:    "Both ends on one machine, packets of MTU size on a veth",
		Subtitle: fmt.Sprintf("Median and range of %d rounds, %s, Linux %s, %.40s", a.Rounds, day, release, a.Machine),
	}
	for _, p := range panels {
		panel := panel{Title: p.title, Unit: p.unit}
		for _, k := range tables[0].kinds {
			s := r.get(realVeth.name, k.name, p.m).spread()
			if s.n == 0 {
				continue
			}
			panel.Bars = append(panel.Bars, bar{shortTitle(k), s.median * p.scale, s.least * p.scale, s.most * p.scale, tone(k)})
		}
		if len(panel.Bars) > 0 {
			f.Panels = append(f.Panels, panel)
		}
	}
	return f
}

// shortTitle fits beside a bar.
func shortTitle(k kind) string {
	return strings.NewReplacer("srdtun, ChaCha20-Poly1305", "srdtun, ChaCha20", "kernel MPTCP", "MPTCP, in clear", "plain TCP", "TCP, in clear").Replace(k.title)
}

func tone(k kind) int {
	switch k.name {
	case srdtun.name, srdtunChaCha.name:
		return 0
	case plainTCP.name, mptcp.name:
		return 2
	}
	return 1
}

// draw writes the picture, unless there is nothing to draw.
func draw(plot, out string, a about, r results) (drawn bool, err error) {
	f := newFigure(a, r)
	if len(f.Panels) == 0 {
		return false, nil
	}
	text, err := json.Marshal(f)
	if err != nil {
		return false, err
	}
	cmd := exec.Command(plot, "-o", out)
	cmd.Stdin = bytes.NewReader(text)
	if said, err := cmd.CombinedOutput(); err != nil {
		return false, fmt.Errorf("srdplot: %w: %s", err, strings.TrimSpace(string(said)))
	}
	return true, nil
}
