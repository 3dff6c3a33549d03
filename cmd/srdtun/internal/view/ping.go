package view

import (
	"bufio"
	"fmt"
	"io"
	"math"

	"github.com/srdtun/srdtun/overlay/control"
)

// Pinged collects the results of the rounds of a ping, for each path. The zero value of Pinged is
// ready to use.
type Pinged struct {
	order []pathKey
	paths map[pathKey]*echoes
}

// echoes counts the answers on one path.
type echoes struct {
	sent, got      int
	min, max, last int64
	sum            int64
}

// Add records one round of a ping.
func (p *Pinged) Add(v *control.Pings) {
	if p.paths == nil {
		p.paths = map[pathKey]*echoes{}
	}
	for i := range v.Paths {
		one := &v.Paths[i]
		k := pathKey{one.Slot, one.From(), one.Remote}
		e := p.paths[k]
		if e == nil {
			e = &echoes{min: math.MaxInt64}
			p.paths[k] = e
			p.order = append(p.order, k)
		}
		e.sent++
		if one.RTTUs > 0 {
			e.got++
			e.min, e.max, e.sum, e.last = min(e.min, one.RTTUs), max(e.max, one.RTTUs), e.sum+one.RTTUs, one.RTTUs
		}
	}
}

// Answered reports whether any path answered in any round.
func (p *Pinged) Answered() bool {
	for _, e := range p.paths {
		if e.got > 0 {
			return true
		}
	}
	return false
}

// Round prints one round. It prints a line for each path, or one line for all paths if there are
// many.
func Round(out io.Writer, number int, v *control.Pings) error {
	w := bufio.NewWriter(out)
	if len(v.Paths) > roundMost {
		e := echoes{min: math.MaxInt64}
		for _, one := range v.Paths {
			if one.RTTUs > 0 {
				e.got++
				e.min, e.max, e.sum = min(e.min, one.RTTUs), max(e.max, one.RTTUs), e.sum+one.RTTUs
			}
		}
		fmt.Fprintf(w, "%s: seq=%d %d of %d paths answer, %s\n", v.Peer, number, e.got, len(v.Paths), e.times())
		return w.Flush()
	}
	for i := range v.Paths {
		one := &v.Paths[i]
		answer := "no answer"
		if one.RTTUs > 0 {
			answer = "time=" + Micros(one.RTTUs)
		}
		fmt.Fprintf(w, "%s: seq=%d path %d from %s to %s: %s\n", v.Peer, number, one.Slot, one.From(), one.Remote, answer)
	}
	return w.Flush()
}

// roundMost is the largest number of paths for which Round prints separate lines.
const roundMost = 4

// times prints the minimum, mean and maximum round trip, as ping(8) does.
func (e *echoes) times() string {
	if e.got == 0 {
		return "no round trip"
	}
	return fmt.Sprintf("min/avg/max %s/%s/%s", Micros(e.min), Micros(e.sum/int64(e.got)), Micros(e.max))
}

// Summary prints the result of all rounds, with a line for each path. Lines of the summary have
// at most `width` characters; 0 means no limit.
func (p *Pinged) Summary(out io.Writer, width int) error {
	w := bufio.NewWriter(out)
	t := table{columns: []column{
		number("path", 4), address("from"), address("to"), number("sent", 3), number("lost", 0),
		number("min", 2), number("avg", 0), number("max", 1),
	}}
	for _, k := range p.order {
		e := p.paths[k]
		least, mean := "-", "-"
		if e.got > 0 {
			least, mean = Micros(e.min), Micros(e.sum/int64(e.got))
		}
		t.add(fmt.Sprint(k.slot), k.local, k.remote, fmt.Sprint(e.sent), percent(uint64(e.sent-e.got), uint64(e.sent)), least, mean, orDash(e.max))
	}
	for _, line := range t.lines(width) {
		fmt.Fprintln(w, line)
	}
	return w.Flush()
}
