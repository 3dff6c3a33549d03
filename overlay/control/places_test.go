package control

import (
	"context"
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/control/rundir"
	"pgregory.net/rapid"
)

const (
	members = 12345 // the group that may use the socket
	alice   = 2001
	bob     = 2002
	carol   = 2003
)

// busy is a handler whose method Flows runs until the client has closed its connection. Flows
// signals each call.
type busy struct {
	*recorder
	began chan struct{}
}

func (b busy) Flows(ctx context.Context, _ time.Duration) (Flows, error) {
	b.began <- struct{}{}
	<-ctx.Done()
	return Flows{}, ctx.Err()
}

// crowd serves srd0 for members of a group. The function gone() returns how many connections of
// each user were replaced.
func crowd(t *testing.T) (b busy, path string, gone func() map[uint32]int) {
	t.Helper()
	dir := runDir(t)
	b = busy{newRecorder(), make(chan struct{}, 256)}
	var mu sync.Mutex
	count := map[uint32]int{}
	s, err := Listen("srd0")
	must(t, err)
	s.OnGone(func(uid uint32) { mu.Lock(); count[uid]++; mu.Unlock() })
	serveUntilEnd(t, s, b)
	path = filepath.Join(dir, "srd0.sock")
	must(t, os.Chown(path, 0, members))
	return b, path, func() map[uint32]int {
		mu.Lock()
		defer mu.Unlock()
		v := map[uint32]int{}
		for uid, n := range count {
			v[uid] = n
		}
		return v
	}
}

// asMember connects as a user n times, and sends a text each time.
func asMember(t *testing.T, uid, n int, path, send string) (all []net.Conn) {
	t.Helper()
	as(uid, uid, []uint32{members}, func() {
		for range n {
			c, err := net.Dial("unix", path)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := c.Write([]byte(send)); err != nil && send == "" {
				t.Error(err)
			}
			all = append(all, c)
		}
	})
	t.Cleanup(func() {
		for _, c := range all {
			c.Close()
		}
	})
	return all
}

func showAs(uid int) (err error) {
	as(uid, uid, []uint32{members}, func() {
		var c *Client
		if c, err = Dial(rundir.Place{Device: "srd0"}); err == nil {
			_, err = c.Show()
			c.Close()
		}
	})
	return err
}

// A client that has all connections for members, and sends or reads nothing, keeps out neither root
// nor another member.
func TestIdleMembersGiveWay(t *testing.T) {
	for name, send := range map[string]string{"silent": "", "slow": `{"op":`, "unread": `{"op":"show"}` + "\n"} {
		t.Run(name, func(t *testing.T) {
			_, path, gone := crowd(t)
			const n = 100
			asMember(t, alice, n, path, send)
			begin := time.Now()
			for _, uid := range []int{0, bob, 0, alice} {
				if err := showAs(uid); err != nil {
					t.Errorf("user %d: %v", uid, err)
				}
			}
			if time.Since(begin) > connTimeout {
				t.Error("they waited for the end of a connection")
			}
			if v := gone(); send != `{"op":"show"}`+"\n" && (v[alice] < maxOthers || v[0]+v[bob] > 0) {
				t.Errorf("closed for others: %v", v)
			}
		})
	}
}

// A user with requests in progress on all connections for members gets no further connection. A
// user with fewer connections replaces one of them.
func TestBusyMembersGiveWay(t *testing.T) {
	b, path, gone := crowd(t)
	asMember(t, alice, maxOthers, path, `{"op":"flows"}`+"\n")
	for range maxOthers {
		<-b.began
	}
	if err := showAs(alice); err == nil || err.Error() != "srd0: "+errNoPlace.Error() {
		t.Errorf("one more of the same user: %v", err)
	}
	for range 3 {
		if err := showAs(0); err != nil {
			t.Errorf("root: %v", err)
		}
	}
	if v := gone(); len(v) != 0 {
		t.Errorf("root has places of its own, and closed were %v", v)
	}
	for range 3 {
		if err := showAs(bob); err != nil {
			t.Errorf("another member: %v", err)
		}
	}
	if v := gone(); v[alice] == 0 {
		t.Errorf("closed: %v", v)
	}
}

// The user with the most connections, some idle and some busy, loses connections before any other
// member does.
func TestMixedMemberTakesNobodysPlace(t *testing.T) {
	b, path, gone := crowd(t)
	waits := asMember(t, bob, 1, path, "")[0]
	asMember(t, alice, maxOthers-3, path, `{"op":"flows"}`+"\n")
	for range maxOthers - 3 {
		<-b.began
	}
	asMember(t, alice, 20, path, "")
	for range 2 { // each replaces an idle connection and keeps its own busy
		asMember(t, alice, 1, path, `{"op":"flows"}`+"\n")
		<-b.began
	}
	if err := showAs(alice); err == nil {
		t.Error("the user with all other places gets one more")
	}
	for range 3 {
		if err := showAs(carol); err != nil {
			t.Errorf("a third member: %v", err)
		}
	}
	if v := gone(); v[bob] > 0 || v[alice] < 20 {
		t.Errorf("closed: %v", v)
	}
	if _, err := waits.Write([]byte(`{"op":"show"}` + "\n")); err != nil {
		t.Errorf("the idle member asks: %v", err)
	}
	if _, err := waits.Read(make([]byte, 1)); err != nil {
		t.Errorf("the idle member waits for its answer: %v", err)
	}
}

// However many connections the users open, each keeps an equal share of the connections that are
// served immediately.
func TestEachMemberKeepsItsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &places{taken: map[*place]struct{}{}}
		a, b := net.UnixConn{}, 0
		user := rapid.IntRange(0, 4)
		held := map[uint32]int{}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			uid := uint32(user.Draw(t, "user"))
			n := &place{UnixConn: &a, of: p, cred: credentials{uid: uid}, master: uid < 2, stop: func() { b++ }}
			before := maps.Clone(held)
			if p.take(n) && rapid.Bool().Draw(t, "busy") {
				n.idleFrom(time.Time{})
			}
			clear(held)
			for c := range p.taken {
				held[c.cred.uid]++
			}
			members, share := map[uint32]bool{uid: true}, 0
			for u, n := range before {
				if u >= 2 {
					members[u], share = true, share+n
				}
			}
			share /= len(members)
			for u, had := range before {
				switch fell := held[u] < had; {
				case !fell, u == uid:
				case u == 0:
					t.Fatalf("user %d took a place of root's: %v", uid, before)
				case u == 1 && uid != 0:
					t.Fatalf("user %d took a place of a master: %v", uid, before)
				case u >= 2 && uid >= 2 && held[u] < share:
					t.Fatalf("user %d took the place of %d, which has %d left: %v", uid, u, held[u], before)
				}
			}
		}
	})
}

// If all clients of a user are still reading their replies, a further client is refused, and no
// reply is cut short. A client that has its whole reply may be replaced.
func TestClientThatReadsKeepsItsPlace(t *testing.T) {
	p := &places{taken: map[*place]struct{}{}}
	var all []*place
	for range maxConns + 1 {
		n := &place{UnixConn: &net.UnixConn{}, of: p, master: true, stop: func() {}}
		if all = append(all, n); p.take(n) != (len(all) <= maxConns) {
			t.Fatalf("connection %d", len(all))
		}
		n.idleFrom(time.Now().Add(time.Hour))
	}
	all[7].idleFrom(time.Now())
	if !p.take(all[maxConns]) || !all[7].left {
		t.Error("the idle one kept its place")
	}
}

// A connection that its client has already closed does not replace one whose client is about to
// send a request.
func TestClosedConnectionReplacesNone(t *testing.T) {
	p := &places{taken: map[*place]struct{}{}}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s")})
	must(t, err)
	defer l.Close()
	open := func() (n *place, client *net.UnixConn) {
		client, err := net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
		must(t, err)
		server, err := l.AcceptUnix()
		must(t, err)
		t.Cleanup(func() { client.Close(); server.Close() })
		return &place{UnixConn: server, of: p, master: true, stop: func() {}}, client
	}
	for range maxConns {
		if n, _ := open(); !p.take(n) {
			t.Fatal("no place")
		}
	}
	n, client := open()
	client.Close()
	if p.take(n) || p.leaving > 0 {
		t.Errorf("%d connections gave way to a closed one", p.leaving)
	}
	if n, _ := open(); !p.take(n) || p.leaving != 1 {
		t.Errorf("%d connections gave way to an open one", p.leaving)
	}
}

// Only a new connection of root replaces one of root's connections.
func TestRootGivesWayToRoot(t *testing.T) {
	b, path, gone := crowd(t)
	asMember(t, 0, maxConns-1, path, "")
	busy := asMember(t, 0, 1, path, `{"op":"flows"}`+"\n")
	<-b.began
	if err := showAs(0); err != nil {
		t.Errorf("root: %v", err)
	}
	for showAs(alice) != nil { // root's last connection ends soon
		time.Sleep(time.Millisecond)
	}
	if v := gone(); v[0] == 0 || v[alice] > 0 {
		t.Errorf("closed: %v", v)
	}
	must(t, busy[0].SetReadDeadline(time.Now().Add(10*time.Millisecond)))
	if _, err := busy[0].Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("root's request was ended: %v", err)
	}
}

// A client that is interrupted before its reply arrives ends only its own connection.
func TestClientGoesWithoutItsAnswer(t *testing.T) {
	for _, uid := range []int{0, alice} {
		_, path, _ := crowd(t)
		for range 20 {
			c := asMember(t, uid, 1, path, `{"op":"show"}`+"\n")[0]
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			c.Close()
			must(t, showAs(0))
		}
	}
}
