package main

import (
	"net"
	"path/filepath"
	"testing"
)

// The socket of a killed process must not prevent the next start. The socket of a running process
// must prevent it.
func TestStaleProfileSocketIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pprof")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	must(t, err)
	l.SetUnlinkOnClose(false)
	l.Close()
	stop, err := servePprof(path)
	must(t, err)
	if _, err := servePprof(path); err == nil {
		t.Error("the socket of a live process is taken over")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
