package view

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A column of numbers is aligned right, and a column of words left.
type column struct {
	title   string
	right   bool
	address bool // it has addresses, which are never cut, because a part reads as another address
	drop    int  // on a narrow screen, columns with the highest number are dropped first; 0: never dropped
}

func words(title string, drop int) column  { return column{title: title, drop: drop} }
func number(title string, drop int) column { return column{title: title, right: true, drop: drop} }
func address(title string) column          { return column{title: title, address: true} }

// table holds titles and rows of cells.
type table struct {
	columns []column
	rows    [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

const (
	between = "  " // space between two columns
	inset   = "  " // indentation of a row's further lines
)

// lines returns the titles and the rows, in at most `width` characters. A `width` of 0 means no
// limit.
func (t *table) lines(width int) []string { return slices.Concat(t.blocks(width)...) }

// blocks returns the lines of the titles and of each row. A row usually has one line. On a narrow
// screen, the addresses of a row get lines of their own.
func (t *table) blocks(width int) [][]string {
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.title
	}
	all := append([][]string{titles}, t.rows...)
	l := layout{columns: t.columns, widths: make([]int, len(t.columns)), width: width}
	for _, row := range all {
		for i, cell := range row {
			l.widths[i] = max(l.widths[i], utf8.RuneCountInString(cell))
		}
	}
	l.fit()
	blocks := make([][]string, len(all))
	for i, row := range all {
		blocks[i] = l.block(row)
	}
	return blocks
}

// layout fits a table into a width in characters.
type layout struct {
	columns []column
	widths  []int // widths of the columns
	width   int   // width of the screen; 0: no limit

	line  []int // columns of the line with the figures
	above []int // addresses with lines of their own above that line
}

// fit drops columns until a row fits into one line. If the addresses still do not fit, fit()
// gives them lines of their own, and starts again with all columns.
func (l *layout) fit() {
	var addresses, figures []int
	for i, c := range l.columns {
		l.line = append(l.line, i)
		if c.address {
			addresses = append(addresses, i)
		} else {
			figures = append(figures, i)
		}
	}
	if l.line = l.without(l.line, l.width); l.sum(l.line) > l.width && l.width > 0 && len(addresses) > 0 {
		l.above, l.line = addresses, l.without(figures, l.width-len(inset))
	}
}

// without drops columns until the rest fits, or until every remaining column is required.
func (l *layout) without(columns []int, width int) []int {
	for width > 0 && l.sum(columns) > width {
		goes := slices.MaxFunc(columns, func(a, b int) int { return l.columns[a].drop - l.columns[b].drop })
		if l.columns[goes].drop == 0 {
			break
		}
		columns = slices.DeleteFunc(slices.Clone(columns), func(i int) bool { return i == goes })
	}
	return columns
}

func (l *layout) sum(columns []int) int {
	sum := len(between) * (len(columns) - 1)
	for _, i := range columns {
		sum += l.widths[i]
	}
	return sum
}

func (l *layout) block(row []string) (lines []string) {
	if len(l.above) == 0 {
		return l.within(l.join(row, l.line))
	}
	if l.sum(l.above) <= l.width {
		lines = append(lines, l.join(row, l.above))
	} else {
		for n, i := range l.above {
			lines = append(lines, l.within(inset[:min(n, 1)*len(inset)]+row[i])...)
		}
	}
	return append(lines, l.within(inset+l.join(row, l.line))...)
}

// within breaks a line that is still too long into several lines.
func (l *layout) within(line string) []string {
	if l.width == 0 {
		return []string{line}
	}
	return broken(line, l.width)
}

func (l *layout) join(row []string, columns []int) string {
	cells := make([]string, len(columns))
	for n, i := range columns {
		pad := strings.Repeat(" ", l.widths[i]-utf8.RuneCountInString(row[i]))
		if cells[n] = row[i] + pad; l.columns[i].right {
			cells[n] = pad + row[i]
		}
	}
	return strings.TrimRight(strings.Join(cells, between), " ")
}
