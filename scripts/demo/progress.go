package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/meter"
)

// barMbit is the rate in Mbit/s for one cell of the progress bar.
const barMbit = 10

// progress shows the rate of a running measurement. On a terminal, progress draws a moving bar,
// and elsewhere it prints a line each second.
type progress struct {
	out      *os.File
	terminal bool
	shown    time.Duration
}

func newProgress(out *os.File) *progress {
	st, err := out.Stat()
	return &progress{out: out, terminal: err == nil && st.Mode()&os.ModeCharDevice != 0, shown: -time.Second}
}

// show displays the rate of one interval.
func (p *progress) show(v meter.Interval) {
	if !p.terminal && v.End < p.shown+time.Second {
		return
	}
	p.shown = v.End
	end, note := "\n", ""
	if p.terminal {
		end = "\x1b[K\r"
	}
	if v.Start >= schedule.Before && v.End <= schedule.Before+schedule.During {
		note = "  spine dead"
	}
	mbit := v.BitsPerSec / 1e6
	cells := min(int(mbit)/barMbit, spines*rateMbit/barMbit)
	fmt.Fprintf(p.out, "  %4.1f s %4.0f Mbit/s |%-*s|%s%s", v.End.Seconds(), mbit, spines*rateMbit/barMbit, strings.Repeat("#", cells), note, end)
}

// end leaves the last state of the bar on the screen.
func (p *progress) end() {
	if p.terminal {
		fmt.Fprintln(p.out)
	}
}
