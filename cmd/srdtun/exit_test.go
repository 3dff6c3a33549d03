package main

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"golang.org/x/sys/unix"
)

func TestExitCode(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("x"), 1},
		{fs.ErrNotExist, 1},
		{control.ErrAlreadyRunning, 1},
		{usagef("x"), 2},
		{fmt.Errorf("x: %w", control.ErrNotRunning), 3},
		{fmt.Errorf("x: %w", unix.EPERM), 77},
		{errors.Join(errors.New("x"), &fs.PathError{Op: "open", Path: "/dev/net/tun", Err: unix.EACCES}), 77},
		{control.ErrPermission, 77},
		{fmt.Errorf("x: %w", &config.Error{File: "f", Msg: "m"}), 78},
		{&codedError{code: 77, msg: "x"}, 77},
	} {
		if got := exitCode(tt.err); got != tt.want {
			t.Errorf("exitCode(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	err := errors.Join(errors.New("a\r\nb"), nil, errors.New("c\n"))
	if got, want := oneLine(err), "a; b; c"; got != want {
		t.Errorf("oneLine = %q, want %q", got, want)
	}
}
