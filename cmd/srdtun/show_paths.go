package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/srdtun/srdtun/overlay/control"
)

// pathColumns are the columns of the table of paths. Numbers are set flush
// right, words flush left.
var pathColumns = []struct {
	title string
	right bool
	value func(control.Path) string
}{
	{"slot", true, func(p control.Path) string { return fmt.Sprint(p.Slot) }},
	{"state", false, func(p control.Path) string { return p.State }},
	{"local", false, func(p control.Path) string { return p.Local }},
	{"remote", false, func(p control.Path) string { return p.Remote }},
	{"srtt", true, func(p control.Path) string { return micros(p.SRTTUs) }},
	{"base", true, func(p control.Path) string { return micros(p.BaseRTTUs) }},
	{"queue", true, func(p control.Path) string { return micros(p.QueueUs) }},
	{"mtu", true, func(p control.Path) string { return fmt.Sprint(p.MTU) }},
	{"packets", true, func(p control.Path) string { return fmt.Sprint(p.SentPackets) }},
	{"sent", true, func(p control.Path) string { return byteCount(p.SentBytes) }},
	{"lost", true, func(p control.Path) string { return fmt.Sprint(p.Lost) }},
	{"resent", true, func(p control.Path) string { return fmt.Sprint(p.Retransmits) }},
	{"weight", true, func(p control.Path) string { return fmt.Sprintf("%.1f%%", float64(p.Weight)/10) }},
}

// paths prints how many paths are active, and a table of all.
func (t *text) paths(paths []control.Path) {
	active := 0
	for _, p := range paths {
		if p.State == control.PathActive {
			active++
		}
	}
	t.field("paths", "%d active of %d", active, len(paths))
	if len(paths) == 0 {
		return
	}
	rows := make([][]string, len(paths)+1)
	for _, c := range pathColumns {
		rows[0] = append(rows[0], c.title)
		for i, p := range paths {
			rows[i+1] = append(rows[i+1], c.value(p))
		}
	}
	widths := make([]int, len(pathColumns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for i, row := range rows {
		line := tableLine(row, widths)
		if i == 0 {
			line = t.style(styleBold, line)
		}
		t.line("    " + line)
	}
}

func tableLine(row []string, widths []int) string {
	var b strings.Builder
	for i, cell := range row {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if i > 0 {
			b.WriteString("  ")
		}
		if pathColumns[i].right {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}
