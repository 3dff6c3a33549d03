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
		e.File = c.File
		if doc, failed := bounded.Regular(cmp.Or(c.copy, c.File), MaxFileBytes); failed == nil {
			at := slices.DeleteFunc(slices.Clone(c.Peers[:i]), func(p Peer) bool { return p.File != "" })
			e.Line = newLineIndex(string(doc)).line(locate(string(doc)).root.key("peer").item(len(at)).key(key).off)
		}
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
	if doc, err := bounded.Regular(cmp.Or(c.copy, c.File), MaxFileBytes); err == nil {
		e.Line = lineOf(string(doc), table, key)
	}
	return e
}

// lineOf returns the line number of a key, or of its table if the key is missing.
func lineOf(doc, table, key string) int {
	at := locate(doc).root.key(table).key(key)
	return newLineIndex(doc).line(at.off)
}
