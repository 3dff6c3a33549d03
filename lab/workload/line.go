package workload

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// These constants bound the input, because a larger simulation would not end in useful time.
const (
	mostNodes = 1 << 14
	mostFlows = 1 << 20
	mostRadix = 1 << 10
	mostTiers = 3
	// mostGbps and mostDelay keep rates and delays within the range of their types.
	mostGbps  = 1e6
	mostDelay = 1e9 // nanoseconds
	// mostBytes is the size of the largest flow, 1 PB, whose duration fits the clock at any rate.
	mostBytes = 1 << 50
)

// line is a non-empty line of a file.
type line struct {
	file   string
	number int
	fields []string
}

// split returns the non-empty lines of text without comments. A comment begins with # and ends with
// the line.
func split(file, text string) []line {
	var v []line
	for i, s := range strings.Split(text, "\n") {
		s, _, _ = strings.Cut(s, "#")
		if f := strings.Fields(s); len(f) > 0 {
			v = append(v, line{file, i + 1, f})
		}
	}
	return v
}

// errorf returns an error that names the file and line number.
func (l line) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", l.file, l.number, fmt.Sprintf(format, args...))
}

// count parses field i as a whole number from `least` to `most`.
func (l line) count(i int, least, most int64) (int64, error) {
	if i >= len(l.fields) {
		return 0, l.errorf("%s: a number is missing", l.fields[0])
	}
	n, err := strconv.ParseInt(l.fields[i], 10, 64)
	if err != nil || n < least || n > most {
		return 0, l.errorf("%q is not a whole number from %d to %d", l.fields[i], least, most)
	}
	return n, nil
}

// real parses field i as a number from `least` to `most`.
func (l line) real(i int, least, most float64) (float64, error) {
	if i >= len(l.fields) {
		return 0, l.errorf("%s: a number is missing", l.fields[0])
	}
	x, err := strconv.ParseFloat(l.fields[i], 64)
	if err != nil || math.IsNaN(x) || x < least || x > most {
		return 0, l.errorf("%q is not a number from %g to %g", l.fields[i], least, most)
	}
	return x, nil
}

// alone returns an error unless the line has n fields.
func (l line) alone(n int) error {
	if len(l.fields) != n {
		return l.errorf("%q: %d words, want %d", strings.Join(l.fields, " "), len(l.fields), n)
	}
	return nil
}
