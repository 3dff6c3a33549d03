package rivals

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// record is one line of the output file. The line holds one value, or the reason why the value is
// missing. The metric's name includes the unit.
type record struct {
	Round  int     `json:"round"`
	Net    string  `json:"net"`
	Kind   string  `json:"kind"`
	Row    string  `json:"row"`
	Metric string  `json:"metric,omitempty"`
	Value  float64 `json:"value"`
	// Disturbed names other processes that were active during the measurement.
	Disturbed string `json:"disturbed,omitempty"`
	Error     string `json:"error,omitempty"`
}

// about is the first line of the output file. It has the versions and settings of the run, the
// machine and the date.
type about struct {
	Date     string            `json:"date"`
	Machine  string            `json:"machine"`
	Kernel   string            `json:"kernel"`
	Versions map[string]string `json:"versions"`
	Rounds   int               `json:"rounds"`
	Seconds  int               `json:"seconds"` // duration of each measurement
	Cloud    bool              `json:"cloud,omitempty"`
	Police   bool              `json:"police,omitempty"`
}

type firstLine struct {
	About *about `json:"about"`
}

// recorder writes each line immediately, so that an interrupted run keeps all its values.
type recorder struct {
	file *os.File
	all  []record
}

func newRecorder(path string, a about) (*recorder, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	r := &recorder{file: f}
	return r, r.line(firstLine{&a})
}

func (r *recorder) line(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = r.file.Write(append(text, '\n'))
	}
	return err
}

func (r *recorder) add(v record) error {
	r.all = append(r.all, v)
	return r.line(v)
}

// readRecords parses a file that a recorder wrote.
func readRecords(in io.Reader) (a about, all []record, err error) {
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		if n == 1 {
			var first firstLine
			if err := json.Unmarshal(lines.Bytes(), &first); err != nil || first.About == nil {
				return a, nil, errors.Join(errors.New("the first line does not say what was run"), err)
			}
			a = *first.About
			continue
		}
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return a, nil, fmt.Errorf("line %d: %w", n, err)
		}
		all = append(all, r)
	}
	return a, all, lines.Err()
}
