package config

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/srdtun/srdtun/internal/bounded"
)

// Fault returns an error for a valid value that the host cannot use, such as a port that another
// process is using. The error names the file, the line and the key, like every fault of a file. The
// error is not an *Error, because the file may be correct and the cause may be temporary. Fault
// reads the file again to find the line, and leaves out the line if that fails.
func (c *Config) Fault(table, key, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &useFault{c.fault(table, key, "%v", err).Error(), err}
}

// FaultOf is like Fault, for a key of the peer with index i.
func (c *Config) FaultOf(i int, key string, err error) error {
	p := &c.Peers[i]
	e := &Error{File: p.File, Line: p.lines.of(key), Key: "peer." + key, Msg: err.Error()}
	if p.File == "" {
		own := slices.DeleteFunc(slices.Clone(c.Peers[:i]), func(p Peer) bool { return p.File != "" })
		e.File = c.File
		e.Line = readAgain(cmp.Or(c.copy, c.File)).line(func(root *mark) *mark { return root.key("peer").item(len(own)).key(key) })
	}
	return &useFault{e.Error(), err}
}

// useFault is a fault that appears when the daemon uses a value. It wraps its cause, so that
// errors.Is recognises fs.ErrPermission.
type useFault struct {
	text  string
	cause error
}

func (e *useFault) Error() string { return e.text }
func (e *useFault) Unwrap() error { return e.cause }

func (c *Config) fault(table, key, format string, args ...any) *Error {
	e := &Error{File: c.File, Key: table + "." + key, Msg: fmt.Sprintf(format, args...)}
	e.Line = readAgain(cmp.Or(c.copy, c.File)).line(func(root *mark) *mark { return root.key(table).key(key) })
	return e
}

// doubted holds the positions in a file that was read again for the line numbers of its values.
type doubted struct {
	root  *mark // nil: the file is unreadable
	lines lineIndex
}

func readAgain(file string) *doubted {
	data, err := bounded.Regular(file, MaxFileBytes)
	if err != nil {
		return &doubted{}
	}
	text := withoutMark(data)
	return &doubted{locate(text).root, newLineIndex(text)}
}

// line returns the line of the value that the function of() finds, or 0 if the file is unreadable.
func (d *doubted) line(of func(root *mark) *mark) int {
	if d.root == nil {
		return 0
	}
	return d.lines.line(of(d.root).off)
}
