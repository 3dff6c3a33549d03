package view

import (
	"bufio"
	"fmt"
	"io"

	"github.com/srdtun/srdtun/overlay/control"
)

// Flows prints the n largest inner flows, in lines of at most `width` characters. A `width` of 0
// means no limit.
func Flows(out io.Writer, f *control.Flows, n, width int) error {
	w := bufio.NewWriter(out)
	n = min(n, len(f.Flows))
	fmt.Fprintf(w, "%s: %s in %.1f s, bits a second\n", f.Interface, count(len(f.Flows), "flow"), float64(f.OverUs)/1e6)
	t := table{columns: []column{
		words("proto", 1), address("local"), address("remote"), number("out", 0), number("in", 0),
		number("held", 2), number("reord", 4), number("hold", 3),
	}}
	for _, v := range f.Flows[:n] {
		t.add(v.Protocol, v.Local, v.Remote, brief(v.TxBytes, f.OverUs), brief(v.RxBytes, f.OverUs),
			some(v.HeldFrames), some(v.ReorderedFrames), orDash(v.LongestHoldUs))
	}
	for _, line := range t.lines(width) {
		fmt.Fprintln(w, line)
	}
	if more := len(f.Flows) - n; more > 0 {
		fmt.Fprintf(w, "and %d smaller\n", more)
	}
	if f.OtherTxBytes|f.OtherRxBytes != 0 {
		fmt.Fprintf(w, "others: out %s, in %s\n", brief(f.OtherTxBytes, f.OverUs), brief(f.OtherRxBytes, f.OverUs))
	}
	return w.Flush()
}

// brief prints a rate in bits per second in a few characters: "1.25G".
func brief(bytes uint64, us int64) string {
	v := float64(bytes) * 8 * 1e6 / float64(max(1, us))
	unit := 0
	for v >= 999.5 && unit < 4 {
		v, unit = v/1000, unit+1
	}
	if bytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3g%s", v, []string{"", "k", "M", "G", "T"}[unit])
}

func some(n uint64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
