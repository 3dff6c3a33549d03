package view

import (
	"strings"
	"unicode/utf8"
)

// column is one of a table. Numbers are set flush right, words flush left.
type column struct {
	title string
	right bool
	short bool // may be cut in the middle where the screen is narrow
}

// table is rows of cells below a title each.
type table struct {
	columns []column
	rows    [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// cutLeast is what is left of a cell at least that is cut.
const cutLeast = 9

// lines returns the titles and the rows, in a width of so many characters; 0: any.
func (t *table) lines(width int) []string {
	widths := make([]int, len(t.columns))
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.title
	}
	all := append([][]string{titles}, t.rows...)
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	if width > 0 {
		t.squeeze(widths, width)
	}
	lines := make([]string, len(all))
	for i, row := range all {
		lines[i] = t.line(row, widths)
	}
	return lines
}

// squeeze makes the columns that may be cut narrower, the widest first, until all fit.
func (t *table) squeeze(widths []int, width int) {
	sum := 2 * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	for ; sum > width; sum-- {
		widest := -1
		for i, c := range t.columns {
			if c.short && widths[i] > cutLeast && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

func (t *table) line(row []string, widths []int) string {
	var b strings.Builder
	for i, cell := range row {
		cell = cut(cell, widths[i])
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if i > 0 {
			b.WriteString("  ")
		}
		if t.columns[i].right {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// cut takes characters out of the middle of s until it has n: the ends of addresses tell
// most.
func cut(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	if n <= 2 {
		return string(r[:n])
	}
	head := (n - 2) / 2
	return string(r[:head]) + ".." + string(r[len(r)-(n-2-head):])
}
