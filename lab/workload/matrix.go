package workload

import (
	"strconv"
	"strings"
	"time"
)

// Flow is one flow of a connection matrix.
type Flow struct {
	Src, Dst int
	ID       int           // from the file, or the number of the line
	Start    time.Duration // after the start of the run
	Size     int64         // bytes of payload
}

// Matrix is a connection matrix: a list of flows between hosts.
type Matrix struct {
	Nodes int
	Flows []Flow
}

// ParseMatrix parses a .cm file, which has the lines "Nodes N", "Connections N", and lines of this
// form:
//
//	SRC->DST [id N] start PICOSECONDS size BYTES
func ParseMatrix(file, text string) (*Matrix, error) {
	m := &Matrix{}
	claimed, at := int64(0), line{file: file, number: 1}
	for _, l := range split(file, text) {
		at = l
		var err error
		switch key := l.fields[0]; {
		case key == "Nodes":
			m.Nodes, err = whole(l, 1, mostNodes)
		case key == "Connections":
			claimed, err = l.count(1, 0, mostFlows)
		case strings.Contains(key, "->"):
			err = m.add(l)
		default:
			err = l.errorf("unknown key %q", key)
		}
		if err != nil {
			return nil, err
		}
	}
	if int64(len(m.Flows)) != claimed {
		return nil, at.errorf("%d connections, the file says %d", len(m.Flows), claimed)
	}
	return m, nil
}

// add parses the line of one connection.
func (m *Matrix) add(l line) error {
	src, dst, _ := strings.Cut(l.fields[0], "->")
	f := Flow{ID: len(m.Flows) + 1}
	for _, end := range []struct {
		text string
		to   *int
	}{{src, &f.Src}, {dst, &f.Dst}} {
		n, err := strconv.Atoi(end.text)
		if err != nil || n < 0 || n >= m.Nodes {
			return l.errorf("%q is not the number of one of %d nodes", end.text, m.Nodes)
		}
		*end.to = n
	}
	if f.Src == f.Dst {
		return l.errorf("node %d sends to itself", f.Src)
	}
	for i := 1; i < len(l.fields); i += 2 {
		if err := f.set(l, i); err != nil {
			return err
		}
	}
	if f.Size == 0 {
		return l.errorf("no size")
	}
	if len(m.Flows) == mostFlows {
		return l.errorf("more than %d connections", mostFlows)
	}
	m.Flows = append(m.Flows, f)
	return nil
}

// set parses the keyword in field i and the number after it.
func (f *Flow) set(l line, i int) error {
	switch key := l.fields[i]; key {
	case "id":
		n, err := l.count(i+1, 0, mostFlows)
		f.ID = int(n)
		return err
	case "start":
		n, err := l.count(i+1, 0, 1<<62)
		f.Start = time.Duration(n / 1000)
		return err
	case "size":
		n, err := l.count(i+1, 1, mostBytes)
		f.Size = n
		return err
	default:
		return l.errorf("unknown word %q", key)
	}
}
