package k8s

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/agent"
	"github.com/srdtun/srdtun/fleet/internal/member"
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

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func key(i int) fleet.Key { return fleet.Key{0: byte(i), 31: 1} }

// api is client-go's fake of an API server, with an allow list of its Nodes.
type api struct {
	*fake.FakeMetadataClient
	nodes *nodes
	list  string // the allow list
	mu    sync.Mutex
	away  error // error of all requests while the API server is away
	// watching receives each watch that begins. The test can end the watch.
	watching chan *watch.RaceFreeFakeWatcher
}

// newAPI returns an API server with the Nodes n1, n2, n3 and those in `more`.
func newAPI(t *testing.T, more ...string) *api {
	scheme := runtime.NewScheme()
	must(t, metav1.AddMetaToScheme(scheme))
	var have []runtime.Object
	var list strings.Builder
	for i, name := range append([]string{"n1", "n2", "n3"}, more...) {
		have = append(have, &metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"somebody": "else's"}},
		})
		fmt.Fprintf(&list, "%s %v 10.80.0.%d/32\n", memberName(name), key(i+1), i+1)
	}
	a := &api{FakeMetadataClient: fake.NewSimpleMetadataClient(scheme, have...), watching: make(chan *watch.RaceFreeFakeWatcher, 16)}
	a.list = filepath.Join(t.TempDir(), "allow")
	must(t, os.WriteFile(a.list, []byte(list.String()), 0o600))
	a.PrependReactor("*", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.away != nil, nil, a.away
	})
	// The fake's own watch does not support versions, so the test passes changes to this one.
	a.PrependWatchReactor("nodes", func(clienttesting.Action) (bool, watch.Interface, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.away != nil {
			return true, nil, a.away
		}
		w := watch.NewRaceFreeFake()
		a.watching <- w
		return true, w, nil
	})
	a.nodes = newNodes(a.FakeMetadataClient, defaultAnnotation)
	return a
}

// fails makes every request fail with err. If err is nil, requests succeed.
func (a *api) fails(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.away = err
}

// set writes a Node's record, as its own agent would.
func (a *api) set(t *testing.T, name string, value []byte) *metav1.PartialObjectMetadata {
	t.Helper()
	must(t, a.nodes.write(t.Context(), name, value))
	return a.node(t, name)
}

func (a *api) node(t *testing.T, name string) *metav1.PartialObjectMetadata {
	t.Helper()
	n, err := a.nodes.Get(t.Context(), name, metav1.GetOptions{})
	must(t, err)
	return n
}

// record returns the valid record of node i.
func (a *api) record(t *testing.T, i int) *fleet.Record {
	t.Helper()
	return a.recordOf(t, fmt.Sprint("n", i), i)
}

// recordOf is like record, for a member with any name.
func (a *api) recordOf(t *testing.T, name string, i int) *fleet.Record {
	t.Helper()
	policy, err := agent.Files{Allow: a.list}.Load()
	must(t, err)
	s := member.Self{Addresses: []string{fmt.Sprintf("192.0.2.%d:51820", i)}}
	r, err := s.Record(name, policy)
	must(t, err)
	return r
}

// rig is an agent on node 1.
type rig struct {
	*api
	t   *testing.T
	dir string
	log lines
	end func()
}

func start(t *testing.T, a *api) *rig {
	r := &rig{api: a, t: t, dir: t.TempDir()}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	m := agent.Member{Store: a.nodes, Record: a.record(t, 1), Policy: agent.Files{Allow: a.list}, Dir: r.dir, Log: slog.New(slog.NewTextHandler(&r.log, nil)), RetryMost: retryMost}
	go func() { ended <- agent.Join(ctx, m) }()
	r.end = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.end)
	return r
}

func (r *rig) await(what string, is func() bool) {
	r.t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("not %s; log:\n%s", what, r.log.String())
		}
	}
}

func (r *rig) wantFiles(names ...string) {
	r.t.Helper()
	r.await(fmt.Sprint("files ", names), func() bool {
		var got []string
		entries, err := os.ReadDir(r.dir)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, e := range entries {
			got = append(got, e.Name())
		}
		return fmt.Sprint(got) == fmt.Sprint(names)
	})
}

func TestNodesBecomePeers(t *testing.T) {
	a := newAPI(t)
	a.set(t, "n2", a.record(t, 2).Format())
	r := start(t, a)
	w := <-a.watching
	r.wantFiles("fleet-n2.toml") // from the listing
	r.await("announced", func() bool {
		return a.node(t, "n1").Annotations[defaultAnnotation] == string(a.record(t, 1).Format())
	})
	if a.node(t, "n1").Annotations["somebody"] == "" {
		t.Error("another's annotation was touched")
	}
	w.Modify(a.set(t, "n3", a.record(t, 3).Format()))
	r.wantFiles("fleet-n2.toml", "fleet-n3.toml")
	data, err := os.ReadFile(filepath.Join(r.dir, "fleet-n3.toml"))
	if err != nil || !bytes.Contains(data, []byte("192.0.2.3:51820")) {
		t.Errorf("%s, %v", data, err)
	}
	w.Modify(a.set(t, "n2", nil)) // the member leaves
	r.wantFiles("fleet-n3.toml")
	w.Delete(a.node(t, "n3"))
	r.wantFiles()
	r.end()
	if a.node(t, "n1").Annotations[defaultAnnotation] == "" {
		t.Error("a stopped agent takes its record along: a restart would be seen")
	}
}

// A user who may write to Nodes cannot add a peer. If this host's record is changed, the agent
// restores it.
func TestPolicyCounts(t *testing.T) {
	a := newAPI(t)
	stranger := &fleet.Record{Name: "n2", PublicKey: key(9), AllowedIPs: a.record(t, 2).AllowedIPs}
	a.set(t, "n2", stranger.Format())
	a.set(t, "n3", bytes.Repeat([]byte("x"), fleet.MaxRecord+100))
	a.set(t, "n1", stranger.Format())
	r := start(t, a)
	<-a.watching
	r.await("refused", func() bool {
		return strings.Contains(r.log.String(), "n2 is refused") && strings.Contains(r.log.String(), "n3 is refused")
	})
	r.wantFiles()
	if got := a.node(t, "n1").Annotations[defaultAnnotation]; got != string(a.record(t, 1).Format()) {
		t.Errorf("the own Node says %s", got)
	}
}

// While the API server is down, all members remain peers. The agent gets the changes when the
// server is back.
func TestAPIServerAway(t *testing.T) {
	a := newAPI(t)
	a.set(t, "n2", a.record(t, 2).Format())
	r := start(t, a)
	w := <-a.watching
	r.wantFiles("fleet-n2.toml")
	a.fails(errors.New("connection refused"))
	w.Stop()
	r.await("said", func() bool { return strings.Contains(r.log.String(), "connection refused") })
	r.wantFiles("fleet-n2.toml")
	a.fails(nil)
	a.set(t, "n3", a.record(t, 3).Format())
	<-a.watching
	r.wantFiles("fleet-n2.toml", "fleet-n3.toml")
	if n := strings.Count(r.log.String(), "connection refused"); n != 1 {
		t.Errorf("said %d times", n)
	}
}

// If a watch ends, or its version is too old, the agent misses no change.
func TestWatchEnds(t *testing.T) {
	a := newAPI(t)
	r := start(t, a)
	w := <-a.watching
	w.Stop()
	w = <-a.watching
	w.Modify(a.set(t, "n2", a.record(t, 2).Format()))
	r.wantFiles("fleet-n2.toml")
	a.set(t, "n3", a.record(t, 3).Format()) // no watch reports this change
	gone := apierrors.NewGone("too old").Status()
	w.Error(&gone)
	<-a.watching
	r.wantFiles("fleet-n2.toml", "fleet-n3.toml")
	if strings.Contains(r.log.String(), "too old") {
		t.Error("a list that is read anew is no fault")
	}
}

func TestStandings(t *testing.T) {
	a := newAPI(t)
	a.set(t, "n2", a.record(t, 2).Format())
	a.set(t, "n3", []byte("nonsense"))
	policy, err := agent.Files{Allow: a.list}.Load()
	must(t, err)
	all, err := agent.Standings(t.Context(), a.nodes, policy)
	if err != nil || len(all) != 2 || all[0].Name != "n2" || all[0].Refused != "" || all[1].Refused == "" {
		t.Errorf("%+v, %v", all, err)
	}
	a.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", nil)
	})
	if _, err := agent.Standings(t.Context(), a.nodes, policy); !apierrors.IsForbidden(err) {
		t.Error(err)
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
