package rivals

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/meter"
)

// progress prints the running measurement, its result, and the expected remaining time of the run.
type progress struct {
	out      *os.File
	terminal bool
	begun    time.Time
	seconds  int
	total    float64 // expected seconds of the whole run
	done     float64 // finished part of total
	rounds   int
}

func newProgress(out *os.File, visits []visit, rounds, seconds int) *progress {
	st, err := out.Stat()
	p := &progress{out: out, terminal: err == nil && st.Mode()&os.ModeCharDevice != 0, begun: time.Now(), rounds: rounds, seconds: seconds}
	for _, v := range visits {
		for _, row := range v.rows {
			p.total += p.expected(v, row)
		}
	}
	return p
}

// setUpTime is the estimated time, in seconds, to start and end a transport. blastTrials is the
// estimated number of rates that a search tries.
const (
	setUpTime   = 4.0
	blastTrials = 12
)

// expected estimates how many seconds a row takes, including its share of the set-up time.
func (p *progress) expected(v visit, row string) float64 {
	t := float64(p.seconds) + meter.QuietSpan.Seconds() + 0.5
	switch row {
	case rowUDP64:
		t = blastTrials * (float64(p.seconds)/blastShare + 2*drainQuiet.Seconds())
	case rowRTTLoad:
		t += rampUp.Seconds()
	}
	return t + setUpTime/float64(len(v.rows))
}

// left estimates the remaining time of the run from the time taken so far.
func (p *progress) left() time.Duration {
	rest := p.total - p.done
	if p.done > 0 {
		rest *= time.Since(p.begun).Seconds() / p.done
	}
	return time.Duration(rest) * time.Second
}

func label(v visit, row string) string {
	return fmt.Sprintf("%-7s %-16s %-8s", v.net.name, v.kind.name, row)
}

func (p *progress) begin(v visit, row string) {
	if p.terminal {
		fmt.Fprintf(p.out, "%d/%d %s ...\x1b[K\r", v.round, p.rounds, label(v, row))
	}
}

func (p *progress) end(v visit, row string, values []value, note string) {
	p.done += p.expected(v, row)
	var said []string
	for _, x := range values {
		said = append(said, digits(x.value)+" "+x.metric)
	}
	if note != "" {
		said = append(said, "("+note+")")
	}
	fmt.Fprintf(p.out, "%d/%d %s %-60s %5.1f %%, %v left\n", v.round, p.rounds, label(v, row), strings.Join(said, "  "),
		100*p.done/p.total, p.left().Round(time.Second))
}

func (p *progress) failed(v visit, row string, err error) {
	if row == "start" {
		for _, r := range v.rows {
			p.done += p.expected(v, r)
		}
	} else {
		p.done += p.expected(v, row)
	}
	fmt.Fprintf(p.out, "%d/%d %s failed: %v\n", v.round, p.rounds, label(v, row), err)
}
