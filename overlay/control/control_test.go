package control

import (
	"bufio"
	"context"
	"errors"
	"iter"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/srdtun/srdtun/overlay/control/rundir"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a handler with a fixed status. It records the changes that clients request, and calls
// of Down.
type recorder struct {
	status Status
	once   sync.Once
	mu     sync.Mutex // a test reads the field set while the server's goroutine may still run
	set    []string
	down   chan struct{}
}

// note appends to the recorded changes.
func (r *recorder) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set = append(r.set, text)
}

// noted returns the recorded changes.
func (r *recorder) noted() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.set)
}

func (r *recorder) Show(Part) (Status, iter.Seq[Peer]) {
	return r.status, slices.Values(r.status.Peers)
}
func (r *recorder) Down(ended func([]string)) {
	r.once.Do(func() { close(r.down) })
	ended([]string{"pre_down: \x1b[31mno", "post_down: no"})
}

func (r *recorder) Config() string { return "secret = 1\n" }

func (r *recorder) Restarting() { r.note("restarting") }

func (r *recorder) Change(c Change) (Changed, error) {
	if c.How == "" {
		return Changed{}, errors.New("how?")
	}
	if c.Config == "bad" {
		return Changed{}, badConfig{}
	}
	for _, v := range c.Settings {
		r.note(v.Key + "=" + v.Value)
	}
	return Changed{Differences: []Difference{{Text: "~ " + c.How, Key: c.How, Live: true}}}, nil
}

type badConfig struct{}

func (badConfig) Error() string        { return "line 1 is wrong" }
func (badConfig) Is(target error) bool { return target == ErrConfig }

func newRecorder() *recorder {
	st := filled()
	st.Interface = "srd0" // a client expects the name of its interface
	return &recorder{status: st, down: make(chan struct{})}
}

// filled is a status without zero values.
func filled() Status {
	var st Status
	fill(reflect.ValueOf(&st).Elem(), new(int64))
	return st
}

func fill(v reflect.Value, n *int64) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]uint64{"reason": uint64(*n)}))
	case reflect.String:
		v.SetString(strings.Repeat("s", int(*n%7)+1))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(*n)
	default:
		v.SetUint(uint64(*n))
	}
}

// runDir gives the test a run directory that other users can reach.
func runDir(t *testing.T) string {
	t.Helper()
	base := t.TempDir()
	for d := base; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o755))
	}
	dir := filepath.Join(base, "run")
	t.Setenv(rundir.Env, dir)
	return dir
}

// start runs a server of the interface `name` until the test ends.
func start(t *testing.T, name string, h Handler) *Server {
	t.Helper()
	s, err := Listen(name)
	must(t, err)
	serveUntilEnd(t, s, h)
	return s
}

func serveUntilEnd(t *testing.T, s *Server, h Handler) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, h) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}

func dial(t *testing.T, name string) *Client {
	t.Helper()
	return dialAt(t, rundir.Place{Device: name})
}

func dialAt(t *testing.T, at rundir.Place) *Client {
	t.Helper()
	c, err := Dial(at)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// partial is a recorder that also records the requested part of each call of Show.
type partial struct {
	*recorder
	asked []Part
}

func (p *partial) Show(part Part) (Status, iter.Seq[Peer]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, part)
	return p.recorder.Show(part)
}

// Each request must specify to the handler which part of the state is needed.
func TestShowAsksForAPart(t *testing.T) {
	runDir(t)
	h := &partial{recorder: newRecorder()}
	start(t, "srd0", h)
	c := dial(t, "srd0")
	want := []Part{{}, {Brief: true}, {Peer: "hub"}}
	for _, part := range want {
		if _, err := c.ShowPart(part); err != nil {
			t.Fatal(err)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.asked, want) {
		t.Errorf("asked for %+v, want %+v", h.asked, want)
	}
}

func TestShowCarriesEveryField(t *testing.T) {
	runDir(t)
	h := newRecorder()
	start(t, "srd0", h)
	c := dial(t, "srd0")
	got, err := c.Show()
	must(t, err)
	want := h.status
	want.Schema, want.Version = Schema, Version
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("Show() = %+v\nwant %+v", *got, want)
	}
	// The same connection serves another request.
	if v, err := c.Version(); err != nil || v != Version {
		t.Errorf("Version() = %q, %v; want %q", v, err, Version)
	}
}

func TestNothingIsNull(t *testing.T) {
	dir := runDir(t)
	start(t, "srd0", &recorder{status: Status{Peers: []Peer{{}}}})
	start(t, "srd1", &recorder{})
	for _, name := range []string{"srd0", "srd1"} {
		c, err := net.Dial("unix", filepath.Join(dir, name+".sock"))
		must(t, err)
		defer c.Close()
		if _, err := c.Write([]byte(`{"op":"show"}` + "\n")); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil || !strings.Contains(line, `"status"`) || strings.Contains(line, "null") {
			t.Errorf("%s: reply %s, %v; want a status without null", name, line, err)
		}
	}
}

func TestDialWithoutDaemon(t *testing.T) {
	dir := runDir(t)
	if _, err := Dial(rundir.Place{Device: "srd0"}); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Dial without a socket: %v, want ErrNotRunning", err)
	}
	leaveStale(t, dir, "srd0")
	if _, err := Dial(rundir.Place{Device: "srd0"}); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Dial of a stale socket: %v, want ErrNotRunning", err)
	}
	if _, err := Dial(rundir.Place{Device: "../srd0"}); err == nil || errors.Is(err, ErrNotRunning) {
		t.Errorf("Dial of a path: %v, want another error", err)
	}
}

// leaveStale makes the files of a killed daemon.
func leaveStale(t *testing.T, dir, name string) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, name+".sock"), Net: "unix"})
	must(t, err)
	l.SetUnlinkOnClose(false)
	l.Close()
	must(t, os.WriteFile(filepath.Join(dir, name+".lock"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, name+".sock.new"), nil, 0o600))
}

func TestStaleSocketIsReplaced(t *testing.T) {
	dir := runDir(t)
	leaveStale(t, dir, "srd0")
	t.Run("serve", func(t *testing.T) {
		start(t, "srd0", newRecorder())
		if _, err := dial(t, "srd0").Show(); err != nil {
			t.Error(err)
		}
		st, err := os.Stat(filepath.Join(dir, "srd0.sock"))
		if err != nil || st.Mode().Perm() != 0o660 {
			t.Errorf("socket mode %v, %v; want 0660", st.Mode(), err)
		}
	})
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind after the end: %v, %v", left, err)
	}
}

func TestSecondDaemonIsRefused(t *testing.T) {
	runDir(t)
	start(t, "srd0", newRecorder())
	if s, err := Listen("srd0"); !errors.Is(err, ErrAlreadyRunning) {
		t.Fatalf("Listen = %v, %v; want ErrAlreadyRunning", s, err)
	}
	// The refused Listen must not have removed the running server's socket.
	if _, err := dial(t, "srd0").Show(); err != nil {
		t.Error(err)
	}
	start(t, "srd1", newRecorder())
}

func TestOneOfManyStartersWins(t *testing.T) {
	runDir(t)
	for range 20 {
		const starters = 8
		results := make(chan *Server, starters)
		for range starters {
			go func() {
				s, err := Listen("srd0")
				if err != nil && !errors.Is(err, ErrAlreadyRunning) {
					t.Errorf("Listen: %v", err)
				}
				results <- s
			}()
		}
		var winners []*Server
		for range starters {
			if s := <-results; s != nil {
				winners = append(winners, s)
			}
		}
		if len(winners) != 1 {
			t.Fatalf("%d daemons have the name, want 1", len(winners))
		}
		must(t, winners[0].Close())
	}
}

func TestDownReachesTheHandler(t *testing.T) {
	runDir(t)
	h := newRecorder()
	start(t, "srd0", h)
	// The server runs in this process, so Down would wait for the test itself. Therefore the
	// context is cancelled first.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := dial(t, "srd0").Down(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Down = %v, want the context's end", err)
	}
	<-h.down
}

// The second reply to a request to stop lists the faults of the tear-down, and a daemon that sends
// no second reply has none to list.
func TestDownTellsTheFaults(t *testing.T) {
	runDir(t)
	start(t, "srd0", newRecorder())
	c := dial(t, "srd0")
	for _, want := range [][]string{{"pre_down: \ufffd[31mno", "post_down: no"}, nil} {
		if want != nil {
			if _, err := c.call(opDown); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := c.faults(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("faults = %q, %v, want %q", got, err, want)
		}
	}
}

func TestNoAnswerIsSaidSo(t *testing.T) {
	runDir(t)
	start(t, "srd0", newRecorder())
	c := dial(t, "srd0")
	must(t, c.SetTimeout(0))
	if _, err := c.Show(); err == nil || err.Error() != "srd0 does not answer" {
		t.Errorf("error %v", err)
	}
}

func TestChangeReachesTheHandler(t *testing.T) {
	runDir(t)
	h := newRecorder()
	start(t, "srd0", h)
	c := dial(t, "srd0")
	got, err := c.Change(Change{How: HowSet, Settings: []Setting{{"paths.policy", "conga"}, {"a", "b=c"}}})
	if err != nil || len(got.Differences) != 1 || got.Differences[0] != (Difference{Text: "~ set", Key: "set", Live: true}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := c.Change(Change{}); err == nil || err.Error() != "srd0: how?" || errors.Is(err, ErrConfig) {
		t.Errorf("error %v", err)
	}
	// The same connection serves another request after an error, too.
	if _, err := c.Change(Change{How: HowSync, Config: "bad"}); !errors.Is(err, ErrConfig) || err.Error() != "srd0: line 1 is wrong" {
		t.Errorf("error %v", err)
	}
	if text, err := c.Config(); err != nil || text != "secret = 1\n" {
		t.Errorf("%q, %v", text, err)
	}
	if want := []string{"paths.policy=conga", "a=b=c"}; !reflect.DeepEqual(h.noted(), want) {
		t.Errorf("%q, want %q", h.noted(), want)
	}
}

// slow is a handler whose changes take as long as a connection may last: before each change it lets
// the deadlines of all connections expire.
type slow struct {
	*recorder
	server *Server
}

func (s *slow) Change(c Change) (Changed, error) {
	s.server.places.mu.Lock()
	defer s.server.places.mu.Unlock()
	for p := range s.server.places.taken {
		if err := p.SetDeadline(time.Unix(1, 0)); err != nil {
			return Changed{}, err
		}
	}
	return s.recorder.Change(c)
}

// On a busy machine a change of many prefixes takes longer than a connection may last. The client
// still gets the reply that the change was made.
func TestSlowChangeIsAnswered(t *testing.T) {
	runDir(t)
	h := &slow{recorder: newRecorder()}
	s, err := Listen("srd0")
	must(t, err)
	h.server = s
	serveUntilEnd(t, s, h)
	c := dial(t, "srd0")
	if got, err := c.Change(Change{How: HowSet, Settings: []Setting{{"a", "b"}}}); err != nil || len(got.Differences) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	// After this reply the server closes the connection.
	if _, err := c.Show(); err == nil {
		t.Error("the connection lives on")
	}
}

func TestLongConfig(t *testing.T) {
	runDir(t)
	start(t, "srd0", newRecorder())
	if _, err := dial(t, "srd0").Change(Change{How: HowSync, Config: strings.Repeat("\"\n", 1<<19)}); err != nil {
		t.Error(err)
	}
}

func TestBadRequests(t *testing.T) {
	dir := runDir(t)
	start(t, "srd0", newRecorder())
	for _, tt := range []struct{ send, want string }{
		{"{}\n", "is not known"},
		{`{"op":"reboot"}` + "\n", `"reboot\" is not known`},
		{"\n", "not understood"},
		{"hello\n", "not understood"},
		{`{"op":"show","all":1}` + "\n", `unknown field`},
		{`{"op":"show"} {}` + "\n", "more than one value"},
		{`{"op":"change"}` + "\n", "it names no change"},
		{strings.Repeat(" ", maxRequest) + "\n", "longer than 65536"},
		{`{"op":"change","enclosed":true}` + "\n", "no file came"},
		{`{"op":"change","enclosed":true,"change":{"how":"reload"}}` + "\n", "it names no change"},
		{`{"op":"change","change":{"how":"sync","config":"x"}}` + "\n", "a configuration comes as a file"},
	} {
		c, err := net.Dial("unix", filepath.Join(dir, "srd0.sock"))
		must(t, err)
		if _, err := c.Write([]byte(tt.send)); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil || !strings.Contains(line, tt.want) {
			t.Errorf("request %.40q: reply %q, %v; want %q in it", tt.send, line, err, tt.want)
		}
		c.Close()
	}
}

func TestMoreClientsThanSlots(t *testing.T) {
	dir := runDir(t)
	start(t, "srd0", newRecorder())
	var idle []net.Conn
	for range maxConns {
		c, err := net.Dial("unix", filepath.Join(dir, "srd0.sock"))
		must(t, err)
		idle = append(idle, c)
	}
	answered := make(chan error, 1)
	go func() {
		c, err := Dial(rundir.Place{Device: "srd0"})
		if err == nil {
			_, err = c.Show()
			c.Close()
		}
		answered <- err
	}()
	for _, c := range idle {
		c.Close()
	}
	if err := <-answered; err != nil {
		t.Errorf("the client that had to wait: %v", err)
	}
}

// as runs f on a separate thread with the given identity. The thread ends with the goroutine.
func as(uid, gid int, groups []uint32, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		var first unsafe.Pointer
		if len(groups) > 0 {
			first = unsafe.Pointer(&groups[0])
		}
		// Raw system calls change the identity of this thread only; the functions of package
		// syscall change all threads.
		for _, call := range [][4]uintptr{
			{unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(first), 0},
			{unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid)},
			{unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)},
		} {
			if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
				panic(errno)
			}
		}
		f()
	}()
	<-done
}

func TestWhoIsServed(t *testing.T) {
	dir := runDir(t)
	start(t, "srd0", newRecorder())
	socket := filepath.Join(dir, "srd0.sock")
	const nobody, group = 65534, 12345
	show := func() error {
		c, err := Dial(rundir.Place{Device: "srd0"})
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Show()
		return err
	}
	as(nobody, nobody, nil, func() {
		if err := show(); !errors.Is(err, ErrPermission) {
			t.Errorf("a stranger, by the socket's mode: %v, want ErrPermission", err)
		}
	})
	must(t, os.Chown(socket, 0, group))
	as(nobody, nobody, []uint32{7, group, 9}, func() {
		if err := show(); err != nil {
			t.Errorf("a member of the socket's group: %v", err)
		}
	})
	as(nobody, group, nil, func() {
		if err := show(); err != nil {
			t.Errorf("a process whose own group is the socket's: %v", err)
		}
	})
	// The server must refuse a user outside the group even if the socket's mode admits everybody.
	must(t, os.Chmod(socket, 0o666))
	as(nobody, nobody, []uint32{7, 9}, func() {
		if err := show(); !errors.Is(err, ErrPermission) || !strings.Contains(err.Error(), "user 65534") {
			t.Errorf("a stranger, by the credentials: %v, want ErrPermission", err)
		}
	})
}

func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(`{"op":"show"}`))
	f.Add([]byte(`{"op":"down"}{}`))
	f.Add([]byte(`{"op":1}`))
	f.Add([]byte(`{"op":"change","change":{"how":"set","settings":[{"key":"a","value":"b"}]}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		req, err := parseRequest(line)
		known := req.Op == opShow || req.Op == opFlows || req.Op == opPing || req.Op == opEvents || req.Op == opDown || req.Op == opVersion || req.Op == opConfig || req.Op == opRestarting || req.Op == opChange && (req.Change != nil && !req.Change.secret()) != req.Enclosed
		if (err == nil) != known {
			t.Errorf("parseRequest(%q) = %+v, %v", line, req, err)
		}
	})
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
