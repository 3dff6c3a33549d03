package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
)

// exitPermission and exitConfig have the values of EX_NOPERM and EX_CONFIG in sysexits(3).
const (
	exitOK         = 0
	exitFailure    = 1
	exitUsage      = 2
	exitNotRunning = 3
	exitDegraded   = 4
	exitPermission = 77
	exitConfig     = 78
)

// usageError is the error of an invalid command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// codedError is an error with its own exit code.
type codedError struct {
	code int
	msg  string
}

func (e *codedError) Error() string { return e.msg }

// toldError is an error that the command has already printed.
type toldError struct{ err error }

func (e *toldError) Error() string { return e.err.Error() }
func (e *toldError) Unwrap() error { return e.err }

func exitCode(err error) int {
	var coded *codedError
	var usage *usageError
	var conf *config.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, control.ErrNotRunning):
		return exitNotRunning
	case errors.Is(err, control.ErrPermission), errors.Is(err, fs.ErrPermission):
		return exitPermission
	case errors.As(err, &conf), errors.Is(err, control.ErrConfig):
		return exitConfig
	}
	return exitFailure
}

// oneLine joins the lines of an error, because errors.Join puts each error on its own line.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// sudoHint returns the advice for a file that this user may not use, or "". A service gets its
// files from the service manager, so sudo would not help it.
func sudoHint(err error) string {
	var conf *config.Error
	_, file := err.(*fs.PathError)
	if !errors.Is(err, fs.ErrPermission) || !file && !errors.As(err, &conf) || os.Geteuid() == 0 || os.Getenv(credentialsEnv) != "" {
		return ""
	}
	return "; use sudo"
}
