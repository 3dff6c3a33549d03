package holder

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOfLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if p := OfLock(path); p.PID != 0 {
		t.Errorf("an unlocked file has %v", p)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if p := OfLock(path); p.PID != os.Getpid() || p.Name == "" {
		t.Errorf("%v, want %d", p, os.Getpid())
	}
	if p := OfLock(path + ".none"); p.PID != 0 {
		t.Errorf("a missing file has %v", p)
	}
}

func TestNothingIsHeld(t *testing.T) {
	if p := OfDevice("no-such-device"); p.PID != 0 {
		t.Errorf("a missing device has %v", p)
	}
}
