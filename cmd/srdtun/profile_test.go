package main

import (
	"net"
	"path/filepath"
	"testing"
)

// A killed process leaves its socket, which must not stop the next start. A live
// process's socket must.
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
