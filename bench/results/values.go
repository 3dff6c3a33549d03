package results

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/srdtun/srdtun/lab/stat"
)

// day is the format of dates in the document.
const day = "2006-01-02"

// dated returns the date on which a file was written.
func dated(file string) (string, error) {
	i, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	return i.ModTime().UTC().Format(day), nil
}

// readLines reads a file of JSON lines.
func readLines[T any](file string) (all []T, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", file, n, err)
		}
		all = append(all, v)
	}
	return all, lines.Err()
}

// nothing is printed in place of a missing measurement.
const nothing = "–"

// median formats the values, each multiplied by unit, as "median [least..most]". A single value is
// printed alone, and no value as a dash.
func median(v []float64, unit float64) string {
	if len(v) == 0 {
		return nothing
	}
	m := stat.Median(v)
	if len(v) == 1 {
		return digits(m * unit)
	}
	return fmt.Sprintf("%s [%s..%s]", digits(m*unit), digits(slices.Min(v)*unit), digits(slices.Max(v)*unit))
}

// digits formats a number with three significant digits.
func digits(v float64) string {
	switch {
	case v >= 99.95 || v == 0:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// errNothing is returned for a file that lacks the values of a table.
var errNothing = errors.New("it holds nothing of this table")
