package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/events"
)

// setClock is the host's clock, which the test can set.
type setClock struct{ ahead atomic.Int64 }

func (c *setClock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *setClock) set(ahead time.Duration) { c.ahead.Store(int64(ahead)) }

// timed returns the configuration of a peer that expires at the given time.
func timed(t *testing.T, name string, i byte, expires time.Time) string {
	return fmt.Sprintf("[[peer]]\nname = %q\npublic_key = %q\nallowed_ips = [\"10.8%d.0.0/16\"]\nexpires = %q\n", name, key(t, i), i, expires.Format(time.RFC3339))
}

// Peers of drop-in files and of the configuration expire, also if the clock is set forward. They
// are restored when the clock is set back.
func TestPeersGoWhenTheirTimeIsOver(t *testing.T) {
	runDir(t)
	dir, clock := t.TempDir(), new(setClock)
	at := time.Now().Add(time.Hour)
	for name, text := range map[string]string{"guest": timed(t, "guest", 4, at), "over": timed(t, "over", 5, time.Now().Add(-time.Hour))} {
		must(t, os.WriteFile(filepath.Join(dir, name+".toml"), []byte(text), 0o600))
	}
	c := parse(t, "[paths]\n", "[peers]\ndir = \""+dir+"\"\n[paths]\n")
	named := &c.Peers[slices.IndexFunc(c.Peers, func(p config.Peer) bool { return p.Name == "named" })]
	named.Expires = at
	r := upWith(t, Options{Config: c, Clock: clock.now})
	r.said(events.PeerExpired, "peer over expired at ")
	want := func(what string, peers ...string) {
		t.Helper()
		until(t, what, func() bool { return slices.Equal(names(shown(t)), peers) })
		if st := shown(t); len(st.Unsaved)+len(st.Pending) > 0 {
			t.Errorf("%s: unsaved %q, pending %q", what, st.Unsaved, st.Pending)
		}
	}
	want("at the start", "near", "named", "guest")

	clock.set(2 * time.Hour)
	want("the clock is set forward", "near")
	r.said(events.PeerExpired, "peer guest expired at ")
	r.said(events.PeerExpired, "peer named expired at ")
	if leadsHere(t, "10.84.0.1") {
		t.Error("the route is left")
	}
	// A reload does not restore the expired peer, and does not report its expiry again.
	accepted(t, control.Change{How: control.HowReload, Config: string(config.Format(c))})
	want("after a reload", "near")
	if n := r.count(events.PeerExpired); n != 3 {
		t.Errorf("told %d times: %q", n, texts(r.server.log))
	}

	clock.set(0)
	until(t, "the clock is set back", func() bool { return len(shown(t).Peers) == 3 && leadsHere(t, "10.84.0.1") })

	// If the grant was renewed in the meantime, the peer is restored.
	must(t, os.WriteFile(filepath.Join(dir, "guest.toml"), []byte(timed(t, "guest", 4, at.Add(4*time.Hour))), 0o600))
	until(t, "the file is read", func() bool {
		r.server.settings.mu.Lock()
		defer r.server.settings.mu.Unlock()
		return slices.ContainsFunc(r.server.running.cfg().Peers, func(p config.Peer) bool { return p.Name == "guest" && p.Expires.After(at) })
	})
	clock.set(2 * time.Hour)
	want("the clock is set forward", "near", "guest")
	r.cancel()
	r.wait()
}

// The clock is set back while another peer has the expired peer's prefix. The peer is restored as
// soon as the prefix is free. Until then it does not prevent the return of other peers.
func TestPeerComesBackAfterAChangeThatFailed(t *testing.T) {
	runDir(t)
	dir, clock := t.TempDir(), new(setClock)
	for i, name := range []string{"guest", "late"} {
		must(t, os.WriteFile(filepath.Join(dir, name+".toml"), []byte(timed(t, name, byte(4+i), time.Now().Add(time.Hour))), 0o600))
	}
	r := upWith(t, Options{Config: parse(t, "[paths]\n", "[peers]\ndir = \""+dir+"\"\n[paths]\n"), Clock: clock.now})
	look := func(fails bool) {
		t.Helper()
		if err := r.server.settings.compareTimes(); (err != nil) != fails {
			t.Errorf("%v", err)
		}
	}
	clock.set(2 * time.Hour)
	look(false)
	if got := names(shown(t)); slices.Contains(got, "guest") || slices.Contains(got, "late") {
		t.Fatalf("%v", got)
	}
	accepted(t, control.Change{How: control.HowSet, Settings: []control.Setting{{Key: "peer.near.allowed_ips", Value: `["10.80.0.2/32", "10.84.0.0/16"]`}}})
	clock.set(0)
	for range 3 {
		look(true)
	}
	if got := names(shown(t)); slices.Contains(got, "guest") || !slices.Contains(got, "late") {
		t.Errorf("one that can does not come back: %v", got)
	}
	if n := r.count(events.ConfigRefused); n != 1 {
		t.Errorf("told %d times: %q", n, texts(r.server.log))
	}
	accepted(t, control.Change{How: control.HowSet, Settings: []control.Setting{{Key: "peer.near.allowed_ips", Value: "10.80.0.2/32"}}})
	look(false)
	if got := names(shown(t)); !slices.Contains(got, "guest") {
		t.Errorf("it stays away: %v", got)
	}
	r.cancel()
	r.wait()
}

// If a change is refused for another reason, no expiry is reported.
func TestEndIsToldWhenItHasHappened(t *testing.T) {
	runDir(t)
	r := up(t, parse(t))
	s := r.server.settings
	want := *s.running.cfg()
	want.Peers = slices.Clone(want.Peers)
	want.Peers = append(want.Peers, want.Peers[0])
	want.Peers[1].Expires = time.Now().Add(-time.Hour)
	s.mu.Lock()
	_, err := s.apply(&want)
	s.mu.Unlock()
	if n := r.count(events.PeerExpired); err == nil || n != 0 {
		t.Errorf("%v, told %d times: %q", err, n, texts(r.server.log))
	}
	r.cancel()
	r.wait()
}

// If a command set the expiry time of a peer and the peer expired, it stays removed, although the
// file has no expiry time. It is restored when the clock is set back, and then expires again.
func TestExpiryThatWasSetHolds(t *testing.T) {
	runDir(t)
	clock := new(setClock)
	r := upWith(t, Options{Config: parse(t), Clock: clock.now})
	want := func(what string, peers ...string) {
		t.Helper()
		until(t, what, func() bool { return slices.Equal(names(shown(t)), peers) })
	}
	at := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	accepted(t, control.Change{How: control.HowSet, Settings: []control.Setting{{Key: "peer.near.expires", Value: at}}})
	want("before its time", "near", "named")
	clock.set(2 * time.Hour)
	want("its time is over", "named")
	for range 3 {
		must(t, r.server.settings.compareTimes())
		if got := names(shown(t)); !slices.Equal(got, []string{"named"}) {
			t.Fatalf("%v after another look at the clock", got)
		}
	}
	clock.set(0)
	want("the clock is set back", "named", "near")
	clock.set(2 * time.Hour)
	want("its time is over again", "named")
	accepted(t, control.Change{How: control.HowReload, Config: string(config.Format(parse(t)))})
	want("a reload of a file without a time", "near", "named")
	r.cancel()
	r.wait()
}
