package agent

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/srdtun/srdtun/fleet"
)

// lines is a log to which several goroutines may write.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.b.String(), text)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

// rig is a running agent with a directory and an allow list.
type rig struct {
	t      *testing.T
	dir    string
	policy Files
	events chan Event
	listed chan struct{}
	log    lines
	stop   func()
}

func newRig(t *testing.T) *rig {
	dir := t.TempDir()
	return &rig{t: t, dir: dir, policy: Files{Allow: filepath.Join(t.TempDir(), "allow")}, events: make(chan Event), listed: make(chan struct{}, 8)}
}

func key(i int) fleet.Key { return fleet.Key{0: byte(i), 31: 1} }

// allow writes an allow list of the given members: m1, m2, and so on.
func (r *rig) allow(members ...int) {
	r.t.Helper()
	var b strings.Builder
	for _, i := range members {
		fmt.Fprintf(&b, "m%d %v 10.80.0.%d/32\n", i, key(i), i)
	}
	if err := os.WriteFile(r.policy.Allow, []byte(b.String()), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) start() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		ended <- Run(ctx, Options{
			Policy: r.policy, Dir: r.dir, Log: slog.New(slog.NewTextHandler(&r.log, nil)), Events: r.events,
			Relist: func() { r.listed <- struct{}{} },
		})
	}()
	r.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Error(err)
		}
	}
}

func (r *rig) put(i int) {
	rec := fleet.Record{Name: fmt.Sprint("m", i), PublicKey: key(i), AllowedIPs: []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.80.0.%d/32", i))}}
	r.events <- Event{Kind: Put, Entry: fleet.Entry{Name: rec.Name, Value: rec.Format(), Born: 1}}
}

// await waits until is() returns true, which must happen.
func (r *rig) await(what string, is func() bool) {
	r.t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("not %s; log:\n%s", what, r.log.b.String())
		}
	}
}

func (r *rig) wantFiles(names ...string) {
	r.t.Helper()
	var got []string
	r.await(fmt.Sprint(names), func() bool {
		entries, err := os.ReadDir(r.dir)
		if err != nil {
			r.t.Fatal(err)
		}
		got = nil
		for _, e := range entries {
			got = append(got, e.Name())
		}
		return fmt.Sprint(got) == fmt.Sprint(names)
	})
}

func TestFilesFollowTheDiscovery(t *testing.T) {
	r := newRig(t)
	r.allow(1, 2)
	r.start()
	r.events <- Event{Kind: Found}
	r.events <- Event{Kind: List}
	for _, i := range []int{1, 2, 3} {
		r.put(i)
	}
	r.events <- Event{Kind: Listed}
	r.wantFiles("fleet-m1.toml", "fleet-m2.toml")
	r.await("said", func() bool { return r.log.has("m3 is refused") })
	r.events <- Event{Kind: Gone, Entry: fleet.Entry{Name: "m2"}}
	r.wantFiles("fleet-m1.toml")
	r.events <- Event{Kind: Lost}
	r.events <- Event{Kind: Gone, Entry: fleet.Entry{Name: "m1"}}
	r.stop()
	r.wantFiles("fleet-m1.toml")
}

// Without a reachable store, a member that is removed from the list stops being a peer. An
// unreadable list changes nothing.
func TestPolicyCountsWithoutDiscovery(t *testing.T) {
	r := newRig(t)
	r.allow(1, 2)
	r.start()
	r.put(1)
	r.put(2)
	r.wantFiles("fleet-m1.toml", "fleet-m2.toml")
	if err := os.WriteFile(r.policy.Allow, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.await("said", func() bool { return r.log.has("the policy stays as it was") })
	r.wantFiles("fleet-m1.toml", "fleet-m2.toml")
	r.allow(2)
	r.wantFiles("fleet-m2.toml")
	<-r.listed
	r.stop()

	r.allow()
	r.start() // also for the files of an earlier process, before the store is reachable
	r.wantFiles()
	r.stop()
}

// If files cannot be written, the agent tries again, and writes them as soon as it can.
func TestFilesThatCannotBeWritten(t *testing.T) {
	r := newRig(t)
	r.allow(1, 2)
	blocked := filepath.Join(r.dir, "fleet-m1.toml")
	if err := os.MkdirAll(filepath.Join(blocked, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.put(1)
	r.put(2)
	r.await("said", func() bool { return r.log.has("not written") })
	if err := os.RemoveAll(blocked); err != nil {
		t.Fatal(err)
	}
	r.wantFiles("fleet-m1.toml", "fleet-m2.toml")
	r.stop()
}

func TestNoPolicyNoAgent(t *testing.T) {
	for _, f := range []Files{{}, {Deny: "x"}, {Keys: "x"}, {Allow: filepath.Join(t.TempDir(), "none")}} {
		if err := Run(context.Background(), Options{Policy: f, Dir: t.TempDir()}); err == nil {
			t.Errorf("%+v is taken", f)
		}
	}
}
