package health

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// scene samples a peer once a second.
type scene struct {
	t   *testing.T
	w   Peer
	now mono.Time
	v   Sample
}

func newScene(t *testing.T) *scene {
	return &scene{t: t, now: mono.Time(time.Hour)}
}

// look advances the clock by a second, takes a sample, and expects events of these kinds.
func (s *scene) look(what string, want ...events.Kind) []events.Event {
	s.t.Helper()
	s.now = s.now.Add(time.Second)
	v := s.v
	s.w.See(v)
	told := slices.Clone(s.w.Look(s.now, nil))
	var got []events.Kind
	for _, e := range told {
		got = append(got, e.Kind)
		if e.Text == "" {
			s.t.Errorf("%s: %s without a text", what, e.Kind)
		}
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("%s: told %q, want %q", what, got, want)
	}
	return told
}

// begin starts a session.
func (s *scene) begin() { s.v.Session = srd.Session{Ready: true, Since: s.now} }

// byRoutes returns the uplink of an address without a named interface.
func byRoutes(addr string) srd.Uplink { return srd.UplinkOf(netip.MustParseAddr(addr), 0) }

// onPath returns a path from a local to a remote address.
func onPath(local, remote string, state srd.PathState) srd.PathInfo {
	return srd.PathInfo{State: state, MTU: 1472, Tuple: srd.Tuple{Local: byRoutes(local), Remote: netip.MustParseAddrPort(remote)}}
}

// paths sets n paths in the given state from one local address.
func (s *scene) paths(from string, n int, state srd.PathState) {
	for i := range n {
		s.v.Paths = append(s.v.Paths, onPath(from, fmt.Sprintf("192.0.2.2:%d", 1000+i), state))
	}
	s.v.Looked = true
}

func TestSessionsAreTold(t *testing.T) {
	s := newScene(t)
	s.look("at first")
	s.begin()
	s.look("a session", events.SessionUp)
	s.look("it lasts")
	s.begin()
	s.look("new keys", events.SessionRenewed)
	s.begin()
	s.v.Restarts++
	s.look("another process", events.PeerRestarted)
	s.v.Session.Ready = false
	s.look("too old", events.SessionExpired)
	s.begin()
	s.look("again", events.SessionUp)
	s.v.Session.Ready = false
	s.v.Closed++
	if e := s.look("the peer ends it", events.SessionEnded); !strings.Contains(e[0].Text, "ended") {
		t.Errorf("why: %q", e[0].Text)
	}
}

// In a local network the handshake may be complete before the first sample. The session is still
// reported.
func TestSessionAtTheFirstLookIsTold(t *testing.T) {
	s := newScene(t)
	s.begin()
	s.look("a session", events.SessionUp)
	s.look("it lasts")
	s.begin()
	s.look("new keys", events.SessionRenewed)
}

func TestSilenceIsTold(t *testing.T) {
	s := newScene(t)
	s.look("at first")
	s.begin()
	s.look("a session", events.SessionUp)
	s.v.Since = s.now
	s.look("something is not answered")
	s.v.Silent = true
	s.look("for long", events.PeerSilent)
	s.look("for longer")
	s.v.Session.Ready = false
	if e := s.look("keys are too old", events.SessionLost); !strings.Contains(e[0].Text, "no answer for 4s") {
		t.Errorf("why: %q", e[0].Text)
	}
	s.begin()
	s.v.Since, s.v.Silent = 0, false
	s.look("it answers", events.SessionUp, events.PeerAnswers)
	// Between two samples the peer has answered, and has become silent again.
	s.v.Since, s.v.Silent = s.now, true
	s.look("silent", events.PeerSilent)
	s.v.Since = s.now
	s.look("an answer in between", events.PeerAnswers, events.PeerSilent)
}

// Paths that are down in a single sample are not reported. Paths that stay down are reported. A
// higher number is reported only if it is much higher.
func TestLossesAreTold(t *testing.T) {
	s := newScene(t)
	set := func(active, down int) {
		s.v.Paths = nil
		s.paths("10.0.0.1", active, srd.PathActive)
		s.paths("10.0.0.1", down, srd.PathDown)
	}
	set(32, 0)
	s.look("all work")
	set(31, 1)
	s.look("one falls")
	set(32, 0)
	s.look("and is back")
	set(24, 8)
	s.look("eight fall")
	if e := s.look("and stay", events.PathsDown); e[0].Attributes["down"] != "8" || e[0].Attributes["paths"] != "32" {
		t.Errorf("told %+v", e[0])
	}
	set(22, 10)
	s.look("two more")
	s.look("and stay")
	set(0, 32)
	s.look("all fall")
	if e := s.look("and stay", events.PathsDown); !strings.Contains(e[0].Text, "none of 32") {
		t.Errorf("told %q", e[0].Text)
	}
	set(16, 16)
	s.look("half are back")
	set(32, 0)
	s.look("all are back", events.PathsBack)
}

// The loss of an uplink is not reported for each peer.
func TestLossesOfAnUplinkAreTheUplinks(t *testing.T) {
	s := newScene(t)
	s.paths("10.0.0.1", 8, srd.PathActive)
	s.paths("10.0.0.2", 8, srd.PathDown)
	gone := map[srd.Uplink]bool{byRoutes("10.0.0.2"): true}
	for range 4 {
		s.w.See(s.v)
		if v := s.w.Look(s.now, gone); len(v) != 0 {
			t.Fatalf("told %+v", v)
		}
	}
	s.w.See(s.v)
	s.w.Look(s.now, nil)
	s.w.See(s.v)
	if v := s.w.Look(s.now, nil); len(v) != 1 {
		t.Errorf("without that: %+v", v)
	}
}

// When an uplink fails, its paths are first reported as down. After the failure of the uplink is
// known, only its paths are down. The log must not say that all paths work again.
func TestUplinkIsNoRecovery(t *testing.T) {
	s := newScene(t)
	s.paths("10.0.0.1", 8, srd.PathActive)
	s.paths("10.0.0.2", 8, srd.PathDown)
	s.look("half fall")
	s.look("and stay", events.PathsDown)
	s.w.See(s.v)
	v := s.w.Look(s.now, map[srd.Uplink]bool{byRoutes("10.0.0.2"): true})
	if len(v) != 1 || v[0].Kind != events.PathsBack || v[0].Text != "all 16 paths but the 8 of an uplink that is down work" {
		t.Errorf("told %+v", v)
	}
}

func TestAddressChangesAreReported(t *testing.T) {
	s := newScene(t)
	at := func(remotes ...string) {
		s.v.Paths, s.v.Looked = nil, true
		for _, r := range remotes {
			s.v.Paths = append(s.v.Paths, onPath("10.0.0.1", r, srd.PathActive))
		}
	}
	at("192.0.2.1:5000", "192.0.2.1:5001")
	s.look("first")
	at("192.0.2.1:5001", "192.0.2.1:7000")
	s.look("one port is another")
	at("192.0.2.1:8000", "192.0.2.1:8001")
	s.look("all ports are", events.PeerRebound)
	at("192.0.2.1:8000", "198.51.100.7:8001")
	s.look("a second address")
	at("198.51.100.7:8001", "198.51.100.7:8002")
	if e := s.look("only that", events.PeerMoved); e[0].Attributes["from"] != "192.0.2.1" || e[0].Attributes["to"] != "198.51.100.7" {
		t.Errorf("told %+v", e[0])
	}
	at()
	s.look("nowhere")
	at("198.51.100.7:8002")
	s.look("back where it was")
	// The path to the peer's old address is unused, and has not been declared down yet.
	at("198.51.100.7:8002", "203.0.113.1:9000")
	s.v.Paths[0].Seen, s.v.Paths[1].Seen = s.now, s.now.Add(heardWithin-1)
	s.look("heard at both")
	s.v.Paths[1].Seen = s.now.Add(heardWithin)
	s.look("heard elsewhere", events.PeerMoved)
	s.v.Paths[0].Seen = s.now.Add(3 * heardWithin)
	s.look("the other once more")
}

func TestSizesAreTold(t *testing.T) {
	s := newScene(t)
	size := func(mtu int) {
		s.v.Paths = nil
		s.paths("10.0.0.1", 4, srd.PathActive)
		s.v.Paths[2].MTU = mtu
	}
	s.v.Most = 1472
	size(1200)
	s.look("at first")
	size(1472)
	for range 8 {
		s.look("as large as it gets")
	}
	size(1372)
	for range 5 {
		s.look("smaller")
	}
	if e := s.look("it stays so", events.PathMTU); e[0].Attributes["payload"] != "1372" {
		t.Errorf("told %+v", e[0])
	}
	size(1200)
	s.look("for a moment")
	size(1372)
	for range 8 {
		s.look("as told")
	}
}

// That only small packets pass is reported once. It is reported again only after full-sized packets
// have passed.
func TestTooSmallIsTold(t *testing.T) {
	s := newScene(t)
	s.begin()
	s.paths("10.0.0.1", 1, srd.PathActive)
	s.v.Paths[0].Unsized, s.v.Paths[0].MTU = true, srd.BasePacket
	s.look("not known yet", events.SessionUp)
	s.v.TooSmall++
	s.look("known", events.PathMTUTooLow)
	s.v.TooSmall++
	s.look("once more")
	s.v.Paths[0].Unsized = false
	s.look("healed")
	s.v.Paths[0].Unsized = true
	s.v.TooSmall++
	s.look("again", events.PathMTUTooLow)
}

func TestMismatchIsTold(t *testing.T) {
	s := newScene(t)
	s.look("at first")
	s.v.Mismatch = "an answer does not decrypt"
	s.look("an answer does not decrypt", events.HandshakeMismatch)
	s.look("nor the next")
	s.begin()
	s.v.Mismatch = ""
	s.look("a session", events.SessionUp)
	s.v.Mismatch = "no answer is confirmed"
	s.look("later", events.HandshakeMismatch)
	s.v.Twins = "two hosts have its key"
	s.look("twins", events.KeyShared)
	s.v.Twins = "two others"
	s.look("the same again")
}

// Each path's state is reported only if Verbose is set.
func TestEachPathIsToldIfAsked(t *testing.T) {
	s := newScene(t)
	s.w.Verbose, s.w.Title = true, srd.Uplink.String
	s.paths("10.0.0.1", 2, srd.PathActive)
	s.look("two paths", events.PathState, events.PathState)
	s.look("as before")
	s.v.Paths = slices.Clone(s.v.Paths)
	s.v.Paths[1].State = srd.PathSuspect
	if e := s.look("one falls silent", events.PathState); !strings.Contains(e[0].Text, "suspect, was active") || e[0].Subject == "" {
		t.Errorf("told %+v", e[0])
	}
}

// A sample without paths does not change the known state of a peer's paths.
func TestQuietPeerChangesNothing(t *testing.T) {
	s := newScene(t)
	s.begin()
	s.paths("10.0.0.1", 4, srd.PathActive)
	s.look("at first", events.SessionUp)
	s.v.Looked, s.v.Paths = false, nil
	for range 10 {
		s.look("idle")
	}
	if yes, no := s.w.Works(); len(yes) != 1 || len(no) != 0 {
		t.Errorf("works from %v, not from %v", yes, no)
	}
}

func TestUplinks(t *testing.T) {
	var u Uplinks
	owned := map[string]bool{"10.0.0.1": true, "10.0.0.2": true, "10.0.0.3": true}
	set := func(addrs string) map[srd.Uplink]bool {
		v := map[srd.Uplink]bool{}
		for _, a := range strings.Fields(addrs) {
			v[byRoutes(a)] = true
		}
		return v
	}
	look := func(what, yes, no, want string) {
		t.Helper()
		var got []string
		for _, n := range u.Look(set(yes), set(no), func(u srd.Uplink) bool { return owned[u.String()] }) {
			word := map[bool]string{true: "up", false: "down"}[n.Up]
			if n.Gone {
				word = "gone"
			}
			got = append(got, n.Of.String()+" "+word)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	look("both", "10.0.0.1 10.0.0.2", "", "10.0.0.1 up, 10.0.0.2 up")
	look("one falls", "10.0.0.2", "10.0.0.1", "")
	look("and is back", "10.0.0.1 10.0.0.2", "", "")
	look("one falls", "10.0.0.2", "10.0.0.1", "")
	look("and stays down", "10.0.0.2", "10.0.0.1", "10.0.0.1 down")
	look("is down", "10.0.0.2", "10.0.0.1", "")
	look("both are", "", "10.0.0.1 10.0.0.2", "")
	look("for long: the peer may be gone", "", "10.0.0.1 10.0.0.2", "")
	look("all back", "10.0.0.1 10.0.0.2", "", "10.0.0.1 up")
	look("one has no paths, and is here", "10.0.0.2", "", "")
	look("still", "10.0.0.2", "", "")
	owned["10.0.0.1"] = false
	look("it is not any more", "10.0.0.2", "", "")
	look("for a moment", "10.0.0.2", "", "10.0.0.1 gone")
	look("forgotten", "10.0.0.2", "", "")
	look("one that never worked", "10.0.0.2", "10.0.0.3", "")
	look("does not", "10.0.0.2", "10.0.0.3", "10.0.0.3 down")
	if len(u.up) != 2 {
		t.Errorf("it remembers %v", u.up)
	}
}

func TestStrangersAreCounted(t *testing.T) {
	var w Refusals
	var drops [srd.NumEndpointReasons]uint64
	now := mono.Time(time.Hour)
	look := func(what string, wait time.Duration, want ...uint64) {
		t.Helper()
		now = now.Add(wait)
		var got []uint64
		for _, n := range w.Look(now, drops) {
			got = append(got, n.Count)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	look("nobody", time.Second)
	drops[srd.EndUnknownPeer] = 32
	look("one", time.Second, 32)
	drops[srd.EndUnknownPeer] = 40
	look("more", time.Second)
	drops[srd.EndBadMAC] = 1
	look("another reason", time.Second, 1)
	look("a minute later", time.Minute, 8)
	drops[srd.EndUnknownPeer] = 50
	look("it goes on, and waits twice as long", time.Minute+time.Second)
	look("then", time.Minute, 10)
	drops[srd.EndNoIndex] = 1000
	look("what a restart leaves is nobody's fault", time.Second)
	drops[srd.EndUnknownPeer] = 51
	look("after a day", 24*time.Hour, 1)
	drops[srd.EndUnknownPeer] = 52
	look("a minute after that", time.Minute, 1)
}
