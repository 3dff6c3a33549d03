package config

import (
	"cmp"
	"fmt"

	"github.com/srdtun/srdtun/internal/bounded"
)

// Fault is the error for a key whose value only proves wrong when it is put to
// use, such as a port that another process has: it names file, line and key as
// every fault of the file does. It is no *Error, since the file may be right and
// what is in the way may pass. The file is looked at again for the line, which
// is left out if it cannot be read any more.
func (c *Config) Fault(table, key, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &useFault{c.fault(table, key, "%v", err).Error(), err}
}

// useFault is a fault of a value in use. Its cause is kept, so that errors.Is knows
// fs.ErrPermission.
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

// lineOf is the line of a key, or of its table when it is not written out.
func lineOf(doc, table, key string) int {
	at := locate(doc).root.key(table).key(key)
	return newLineIndex(doc).line(at.off)
}
