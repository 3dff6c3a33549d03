package main

import (
	"net"
	"path/filepath"
	"testing"
)

// A process that is killed leaves its socket, which must not keep the next one from
// starting; that of a live one must.
func TestStaleProfileSocketIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pprof")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	stop, err := servePprof(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := servePprof(path); err == nil {
		t.Error("the socket of a live process is taken over")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
