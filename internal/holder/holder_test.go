package holder

import (
	"net"
	"os"
	"path/filepath"
	"slices"
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

// A bound socket is found with its address and its process, in both address families.
func TestSockets(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		u, err := net.ListenPacket("udp", host+":0")
		if err != nil {
			t.Logf("%s: %v", host, err)
			continue
		}
		defer u.Close()
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		for _, c := range []struct {
			all []Socket
			at  string
		}{{UDP(), u.LocalAddr().String()}, {TCP(), l.Addr().String()}} {
			i := slices.IndexFunc(c.all, func(s Socket) bool { return s.At.String() == c.at })
			if i < 0 {
				t.Errorf("%s is not among %d sockets", c.at, len(c.all))
				continue
			}
			if by := c.all[i].Processes(); Last(by).PID != os.Getpid() {
				t.Errorf("%s: %v, want %d", c.at, by, os.Getpid())
			}
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add("0100007F:CA6C")
	f.Add("B80D0120000000000000000001000000:0035")
	f.Fuzz(func(t *testing.T, text string) {
		if at, ok := parseAddress(text); ok && !at.IsValid() {
			t.Errorf("%q: %v", text, at)
		}
	})
}

func TestNothingIsHeld(t *testing.T) {
	if p := OfDevice("no-such-device"); p.PID != 0 {
		t.Errorf("a missing device has %v", p)
	}
}
