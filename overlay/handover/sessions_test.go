package handover

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/overlay/control/rundir"
	"golang.org/x/sys/unix"
)

func dup(t *testing.T, fds []int) (v []int) {
	t.Helper()
	for _, fd := range fds {
		n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		v = append(v, n)
	}
	return v
}

var secret = []byte("a session with a key in it")

// withSessions is what a process passes on that has a session.
func withSessions(t *testing.T) *Bundle {
	t.Helper()
	b, ok := AppendSession(nil, Session{Peer: [32]byte{1}, Binding: [32]byte{2}, Data: secret})
	if !ok {
		t.Fatal("no room")
	}
	p := pair(t)
	return &Bundle{
		State: State{Kept: &Kept{BootID: rundir.Boot(), Clock: 5, Boot: 6, Prefix: 7}},
		TUN:   dup(t, p[:1]), UDP: dup(t, p[1:]), Machine: dup(t, p[:1]), Sessions: b,
	}
}

// store is what a manager has when a process has given b to it.
func stored(t *testing.T, b *Bundle) (_ Store, fds map[string][]int) {
	t.Helper()
	m, s := newManager(t)
	m.hold()
	if err := s.Give(b); err != nil {
		t.Fatal(err)
	}
	b.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	t.Cleanup(func() { closeAll(m.held) })
	return s, m.held
}

// copyOf are descriptors for one more process.
func copyOf(t *testing.T, fds map[string][]int) map[string][]int {
	v := map[string][]int{}
	for name, list := range fds {
		v[name] = dup(t, list)
	}
	return v
}

// content is what the manager's file of sessions holds.
func content(t *testing.T, fds map[string][]int) []byte {
	t.Helper()
	b, err := readSessions(partsOf(fds[nameState]).sessions[0])
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The next process has the sessions, and nobody else ever has: not one that is given the same
// descriptors, nor one that looks into what the manager holds.
func TestSessionsAreTakenOnce(t *testing.T) {
	b := withSessions(t)
	s, fds := stored(t, b)
	if b.Sessions != nil {
		t.Error("the process that gave them still has them")
	}
	if !bytes.Contains(content(t, fds), secret) {
		t.Fatal("they are not there")
	}
	if n := len(fds[nameState]); n != 3 {
		t.Errorf("%d descriptors have the name that an older program takes for one", n)
	}
	first, err := s.receive(copyOf(t, fds))
	if err != nil || first.Without != "" {
		t.Fatal(err, first.Without)
	}
	v, err := ParseSessions(first.Sessions)
	if err != nil || len(v) != 1 || !bytes.Equal(v[0].Data, secret) || v[0].Peer[0] != 1 || v[0].Binding[0] != 2 {
		t.Fatalf("%v, %v", v, err)
	}
	if first.State.Kept.Clock != 5 || first.State.Kept.Boot != 6 || first.State.Kept.Prefix != 7 || len(first.Machine) != 1 {
		t.Errorf("%+v", first.State.Kept)
	}
	data := first.Sessions
	first.Close()
	if bytes.Contains(data, secret) || bytes.Contains(content(t, fds), secret) {
		t.Error("they were not overwritten")
	}
	second, err := s.receive(copyOf(t, fds))
	if err != nil || second.Sessions != nil || !strings.Contains(second.Without, "another process") {
		t.Errorf("%v, %+v", err, second)
	}
	second.Close()
}

// One that died right after it had made them its own has used them up.
func TestSessionsOfOneThatDied(t *testing.T) {
	s, fds := stored(t, withSessions(t))
	if err := claim(partsOf(fds[nameState]).sessions[0]); err != nil {
		t.Fatal(err)
	}
	b, err := s.receive(copyOf(t, fds))
	if err != nil || b.Sessions != nil || b.Without == "" {
		t.Errorf("%v, %+v", err, b)
	}
	b.Close()
}

// A manager that does not answer may give them to another process as well: nobody has them.
func TestSessionsOfAManagerThatDoesNotAnswer(t *testing.T) {
	_, fds := stored(t, withSessions(t))
	gone := Store{socket: filepath.Join(t.TempDir(), "none"), unit: "x"}
	if b, err := gone.receive(copyOf(t, fds)); b != nil || err == nil {
		t.Errorf("%v, %v", b, err)
	}
	if bytes.Contains(content(t, fds), secret) || claim(partsOf(fds[nameState]).sessions[0]) == nil {
		t.Error("they can still be used")
	}
	_, fds = stored(t, withSessions(t))
	b, err := Store{}.receive(copyOf(t, fds)) // descriptors without a manager
	if err != nil || b.Sessions != nil || b.Without == "" {
		t.Errorf("%v, %+v", err, b)
	}
	b.Close()
}

// Somebody who gave them in part has made them useless.
func TestSessionsThatWereNotGiven(t *testing.T) {
	m, s := newManager(t)
	m.hold()
	b := withSessions(t)
	unix.Close(b.Machine[0])
	b.Machine[0] = 1 << 20 // cannot be sent
	if err := s.Give(b); err == nil || b.Sessions != nil {
		t.Errorf("%v, %d bytes", err, len(b.Sessions))
	}
	b.Machine = nil
	b.Close()
	m.socket.Close()
}

// Whatever does not fit makes sessions anew, and leaves nothing that could be read.
func TestSessionsThatDoNotFit(t *testing.T) {
	for why, change := range map[string]func(b *Bundle, fds map[string][]int){
		"another run of this machine": func(b *Bundle, _ map[string][]int) { b.State.Kept.BootID = "0" },
		"run of this machine":         func(b *Bundle, _ map[string][]int) { b.State.Kept.BootID = "" },
		"0 sockets":                   func(b *Bundle, _ map[string][]int) { unix.Close(b.Machine[0]); b.Machine = nil },
		"the sessions are damaged": func(_ *Bundle, fds map[string][]int) {
			if fds != nil {
				unix.Pwrite(partsOf(fds[nameState]).sessions[0], []byte{0xff}, 70)
			}
		},
		"2 files": func(_ *Bundle, fds map[string][]int) {
			if fds != nil {
				fd, err := memoryFile("x", secret, keptSeals)
				if err != nil {
					t.Fatal(err)
				}
				fds[nameState] = append(fds[nameState], fd)
			}
		},
	} {
		b := withSessions(t)
		change(b, nil)
		s, fds := stored(t, b)
		change(b2(), fds)
		got, err := s.receive(copyOf(t, fds))
		if err != nil || got.Sessions != nil || !strings.Contains(got.Without, why) {
			t.Errorf("%s: %v, %+v", why, err, got)
		}
		got.Close()
		if bytes.Contains(content(t, fds), secret) {
			t.Errorf("%s: they are still there", why)
		}
	}
}

// b2 is a bundle that nobody looks at.
func b2() *Bundle { return &Bundle{State: State{Kept: &Kept{}}, Machine: []int{-1}} }

// A process that has no sessions passes on what older programs understand.
func TestWithoutSessionsTheStateIsAnOldOne(t *testing.T) {
	p := pair(t)
	_, fds := stored(t, &Bundle{TUN: dup(t, p[:1]), UDP: dup(t, p[1:])})
	if len(fds[nameState]) != 1 {
		t.Fatalf("%d descriptors", len(fds[nameState]))
	}
	st, err := readState(dup(t, fds[nameState])[0])
	if err != nil || st.Version != plainVersion || st.Kept != nil {
		t.Errorf("%+v, %v", st, err)
	}
}

func TestTooManySessions(t *testing.T) {
	if _, ok := AppendSession(nil, Session{Data: make([]byte, maxSession+1)}); ok {
		t.Error("one that is too large is taken")
	}
	var b []byte
	n, ok := 0, true
	for one := (Session{Data: make([]byte, maxSession)}); ok && n < 100; n++ {
		b, ok = AppendSession(b, one)
	}
	if ok || len(b) > maxSessions || n < 60 {
		t.Errorf("%d sessions of %d bytes", n, len(b))
	}
	if _, err := ParseSessions(b); err != nil {
		t.Error(err)
	}
}

func FuzzSessions(f *testing.F) {
	b, _ := AppendSession(nil, Session{Data: secret})
	f.Add(b)
	f.Add(b[:len(b)-1])
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := ParseSessions(b)
		if err != nil {
			return
		}
		var again []byte
		for _, s := range v {
			var ok bool
			if again, ok = AppendSession(again, s); !ok {
				t.Fatal("what was read cannot be written")
			}
		}
		if !bytes.Equal(again, b) {
			t.Fatalf("%x became %x", b, again)
		}
	})
}
