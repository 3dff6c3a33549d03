// Package markdown writes the tables of reports.
package markdown

import (
	"fmt"
	"io"
	"strings"
)

// Table writes a table with a heading for each column. Cells are text in Markdown, without line ends.
func Table(w io.Writer, head []string, rows [][]string) {
	line := func(cells []string) {
		row := "|"
		for _, c := range cells {
			row += strings.TrimRight(" "+c, " ") + " |"
		}
		fmt.Fprintln(w, row)
	}
	line(head)
	fmt.Fprintf(w, "|%s\n", strings.Repeat(" --- |", len(head)))
	for _, r := range rows {
		line(r)
	}
}
