package control

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/events"
	"golang.org/x/sys/unix"
)

const secret = "oD1r4LpO1DCso8wyo3uhFx/dZW5TY3VxK7QRfwNYDHY="

// planted listens at path as the user uid. The function got() returns all bytes that arrived, and
// says whether a descriptor arrived.
func planted(t *testing.T, path string, uid int) (got func() string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.Chown(filepath.Dir(path), uid, uid))
	var l net.Listener
	as(uid, uid, nil, func() {
		var err error
		if l, err = net.Listen("unix", path); err != nil {
			t.Error(err)
		}
	})
	if l == nil {
		t.FailNow()
	}
	t.Cleanup(func() { l.Close() })
	all := make(chan string, 16)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(all)
				return
			}
			var text bytes.Buffer
			buf, oob := make([]byte, 1<<16), make([]byte, 1024)
			_ = c.SetDeadline(time.Now().Add(connTimeout))
			for !bytes.HasSuffix(text.Bytes(), []byte("\n")) {
				n, o, _, _, err := c.(*net.UnixConn).ReadMsgUnix(buf, oob)
				if o > 0 {
					text.WriteString("DESCRIPTOR")
				}
				text.Write(buf[:max(n, 0)])
				if err != nil {
					break
				}
			}
			_, _ = c.Write([]byte(`{"config":"","changed":[]}` + "\n"))
			c.Close()
			all <- text.String()
		}
	}()
	return func() string {
		l.Close()
		var text strings.Builder
		for s := range all {
			text.WriteString(s)
		}
		return text.String()
	}
}

// A client of root sends a secret only to a process of root. It sends none to a user's process that
// listens in place of a service, and none to a process in the user's directory.
func TestSecretsAreForTrustedServers(t *testing.T) {
	const user = 1234
	for _, at := range []rundir.Place{{Device: "srd0"}, {Service: "srd0", Device: "srd0"}, {Service: "other", Device: "srd0"}} {
		for name, what := range map[string]Change{
			"reload":  {How: HowReload, Config: secret},
			"addconf": {How: HowAdd, Config: secret},
			"set":     {How: HowSet, Settings: []Setting{{"paths.policy", "ecmp"}, {"peer.a.preshared_key", secret}}},
			"save":    {How: HowSet, Save: true, Settings: []Setting{{"interface.private_key", secret}}},
		} {
			t.Run(at.Service+"/"+at.Device+" "+name, func(t *testing.T) {
				runDir(t)
				path, err := at.Socket()
				must(t, err)
				got := planted(t, path, user)
				c, err := Dial(at)
				if at.Service == "" {
					if !errors.Is(err, ErrUntrusted) {
						t.Errorf("connected, error %v", err)
					}
					return
				}
				must(t, err)
				if _, err := c.Change(what); !errors.Is(err, ErrUntrusted) {
					t.Errorf("error %v, want one that says who is not trusted", err)
				}
				c.Close()
				if text := got(); strings.Contains(text, secret) || strings.Contains(text, "DESCRIPTOR") {
					t.Errorf("it was told %q", text)
				}
			})
		}
	}
}

// A trusted process gets a secret in a file, as a descriptor. The bytes of the stream do not
// contain the secret.
func TestSecretsAreNotInTheStream(t *testing.T) {
	dir := runDir(t)
	got := planted(t, filepath.Join(dir, "srd0.sock"), 0)
	c := dial(t, "srd0")
	if _, err := c.Change(Change{How: HowSync, Config: secret}); err != nil {
		t.Error(err)
	}
	c.Close()
	if text := got(); strings.Contains(text, secret) || !strings.Contains(text, "DESCRIPTOR") {
		t.Errorf("it was told %q", text)
	}
}

// A descriptor must be one of a regular file. The daemon never blocks on another kind.
func TestOnlyFilesAreDisclosed(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	defer w.Close()
	long, err := enclose(Change{Config: strings.Repeat("x", maxConfig)})
	must(t, err)
	defer long.Close()
	null, err := os.Open("/dev/zero")
	must(t, err)
	defer null.Close()
	for name, f := range map[string]*os.File{"nothing": nil, "a pipe": r, "too long": long, "a device": null} {
		if c, err := disclose(f); err == nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// The daemon takes descriptors from masters only.
func TestDescriptorsOfMembersAreNotTaken(t *testing.T) {
	dir := runDir(t)
	start(t, "srd0", newRecorder())
	const nobody, group = 65534, 12345
	must(t, os.Chown(filepath.Join(dir, "srd0.sock"), 0, group))
	as(nobody, nobody, []uint32{group}, func() {
		c, err := net.Dial("unix", filepath.Join(dir, "srd0.sock"))
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		r, w, err := os.Pipe()
		if err != nil {
			t.Error(err)
			return
		}
		defer r.Close()
		if _, _, err := c.(*net.UnixConn).WriteMsgUnix([]byte(`{"op":"show"}`+"\n"), unix.UnixRights(int(w.Fd())), nil); err != nil {
			t.Error(err)
		}
		w.Close()
		if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
			t.Error(err)
		}
		// The connection is still open, but the daemon must have closed the received descriptor by
		// now.
		if err := r.SetReadDeadline(time.Now().Add(connTimeout)); err != nil {
			t.Error(err)
		}
		if n, err := r.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the descriptor is held: %d, %v", n, err)
		}
	})
}

// A reply can neither send control sequences to root's terminal nor fake a line of output.
func TestRepliesArePrintable(t *testing.T) {
	const bad = "a\x1b]0;x\x07\u009b31m\u202e\nb"
	hostile := reply{
		Error: bad, Config: bad, Version: bad, Status: &Status{File: bad, Peers: []Peer{{Name: bad, Endpoints: []string{bad}, Drops: map[string]uint64{bad: 1}}}},
		Changed: []Difference{{Text: bad}}, Happened: &Happened{Run: bad},
	}
	line, err := json.Marshal(hostile)
	must(t, err)
	r, err := parseReply(line)
	must(t, err)
	for _, s := range []string{
		r.Error, r.Config, r.Version, r.Status.File, r.Status.Peers[0].Name, r.Status.Peers[0].Endpoints[0], r.Changed[0].Text, r.Happened.Run,
	} {
		if strings.ContainsFunc(s, func(c rune) bool { return c != '\n' && unprintable(c) }) {
			t.Errorf("%q", s)
		}
	}
	for reason := range r.Status.Peers[0].Drops {
		if strings.ContainsFunc(reason, unprintable) {
			t.Errorf("%q", reason)
		}
	}
	if strings.Contains(r.Status.Peers[0].Name, "\n") {
		t.Errorf("%q has two lines", r.Status.Peers[0].Name)
	}
}

// Every kind of short reply that would be large in memory is refused.
func TestRepliesAreBounded(t *testing.T) {
	const n, deep = 1 << 20, 5000
	many := func(head, element, tail string) string {
		return head + strings.Repeat(element+",", n) + element + tail
	}
	for name, line := range map[string]string{
		"objects":       many(`{"status":{"peers":[`, `{}`, `]}}`),
		"nulls":         many(`{"status":{"peers":[`, `null`, `]}}`),
		"numbers":       many(`{"status":{"peers":[`, `0`, `]}}`),
		"paths":         many(`{"status":{"peers":[{"paths":[`, `null`, `]}]}}`),
		"another case":  many(`{"STATUS":{"Peer\u0073":[`, `null`, `]}}`),
		"long objects":  many(`{"status":{"peers":[`, `{"name":"","cipher":"","policy":""}`, `]}}`),
		"texts":         many(`{"status":{"unsaved":[`, `""`, `]}}`),
		"texts of null": many(`{"status":{"unsaved":[`, `null`, `]}}`),
		"lists":         many(`{"status":{"peers":[`, `[]`, `]}}`),
		"workers":       many(`{"status":{"workers":[`, `0`, `]}}`),
		"changes":       many(`{"changed":[`, `null`, `]}`),
		"events":        many(`{"happened":{"events":[`, `null`, `]}}`),
		"flows":         many(`{"flows":{"flows":[`, `{}`, `]}}`),
		"pings":         many(`{"pings":{"paths":[`, `{}`, `]}}`),
		"maps":          many(`{"status":{"peers":[`, `{"drops":{"":0}}`, `]}}`),
		"dotless":       many(`{"\u017ftatus":{"peers":[`, `null`, `]}}`),
		"spaces":        many(` { "status" : { "peers" : [`, " null\t", `] } }`),
		"deep":          strings.Repeat(`{"status":`, deep) + `{}` + strings.Repeat(`}`, deep),
		"deep lists":    strings.Repeat(`[`, deep) + strings.Repeat(`]`, deep),
		"deep unknown":  `{"unknown":` + strings.Repeat(`[`, deep) + strings.Repeat(`]`, deep) + `}`,
	} {
		used := allocated(func() {
			if _, err := parseReply([]byte(line)); !errors.Is(err, errSize) && !errors.Is(err, errNesting) {
				t.Errorf("%s: error %v", name, err)
			}
		})
		if most := uint64(8 * (freeBytes + growth*len(line))); used > most {
			t.Errorf("%s: %d MB for %d MB", name, used>>20, len(line)>>20)
		}
	}
}

// Parts of a reply that the client does not decode take no memory. The client refuses or decodes
// the reply.
func TestUnknownRepliesTakeNothing(t *testing.T) {
	for _, line := range []string{
		`{"unknown":[` + strings.Repeat("null,", 1<<20) + `0]}`,
		`[` + strings.Repeat("null,", 1<<20) + `0]`,
		`[` + strings.Repeat(`"",`, 1<<20) + `0]`,
		strings.Repeat("0,", 1<<20) + "0",
		`{"error":` + strings.Repeat("9", 1<<20) + `}`,
		`{"status":{"uptime_s":` + strings.Repeat("9", 1<<20) + `}}`,
		`{"status":{"uptime_s":1e999999999}}`,
		`{"version":"` + strings.Repeat("\xff", 1<<20) + `"}`,
		`{"status":{"peers":{"0":null}}}`,
	} {
		used := allocated(func() { _, _ = parseReply([]byte(line)) })
		if most := uint64(64 * (freeBytes + len(line))); used > most {
			t.Errorf("%.40s: %d MB for %d MB", line, used>>20, len(line)>>20)
		}
	}
}

// Neither a long text in a reply nor an error about the reply fills root's terminal.
func TestLongTextsOfRepliesAreCut(t *testing.T) {
	const n = 1 << 20
	long := strings.Repeat("x", n)
	line, err := json.Marshal(reply{Error: long, Status: &Status{File: long, Peers: []Peer{{Name: long, Drops: map[string]uint64{long: 1}}}}})
	must(t, err)
	r, err := parseReply(line)
	must(t, err)
	p := r.Status.Peers[0]
	for reason := range p.Drops {
		p.Endpoint = reason
	}
	for _, s := range []string{r.Error, r.Status.File, p.Name, p.Endpoint} {
		if len(s) > maxError+len("...") || s != r.Error && len(s) > maxText+len("...") {
			t.Errorf("%d bytes", len(s))
		}
	}
	for _, bad := range []string{`{"status":{"uptime_s":` + strings.Repeat("9", n) + `}}`, `{"status":{"uptime_s":"` + long + `"}}`, `{"status":{"peers":{"` + long + `":0}}}`, long} {
		if _, err := parseReply([]byte(bad)); err == nil || len(err.Error()) > maxFault+len("...") {
			t.Errorf("%.40s: %d bytes", bad, len(err.Error()))
		}
	}
}

// allocated returns the number of bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The daemon's own replies stay within the client's bounds, however many values a field of any kind
// has.
func TestOwnRepliesAreUnderstood(t *testing.T) {
	prefixes := make([]string, 1<<16)
	for i := range prefixes {
		prefixes[i] = "1.0.0.0/8"
	}
	many := newRecorder().status
	many.Peers = make([]Peer, 500)
	for i := range many.Peers {
		many.Peers[i].Paths = make([]Path, 64)
	}
	for name, want := range map[string]reply{
		"everything": {Status: new(filled())},
		"peers":      {Status: &Status{Peers: make([]Peer, 5000)}},
		"paths":      {Status: &many},
		"prefixes":   {Status: &Status{Peers: []Peer{{AllowedIPs: prefixes}}}},
		"workers":    {Status: &Status{Workers: make([]Worker, 1024)}},
		"changes":    {Changed: make([]Difference, 1<<16)},
		"events":     {Happened: &Happened{Events: make([]events.Event, 5000)}},
		"flows":      {Flows: &Flows{Flows: make([]Flow, 5000)}},
		"pings":      {Pings: &Pings{Paths: make([]Ping, 5000)}},
	} {
		line, err := json.Marshal(want)
		must(t, err)
		if _, err := parseReply(line); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A service can admit a group of which its user is not a member.
func TestGroupIsLetIn(t *testing.T) {
	dir := runDir(t)
	service := filepath.Join(dir, "hub")
	must(t, os.MkdirAll(service, 0o755))
	t.Setenv("RUNTIME_DIRECTORY", service)
	t.Setenv(GroupEnv, "daemon") // number 1 in Debian's base-passwd
	s := start(t, "srd0", newRecorder())
	if err := s.Closed(); err != nil {
		t.Fatalf("no access control lists: %v", err)
	}
	const nobody, group = 65534, 1
	hub := rundir.Place{Service: "hub", Device: "srd0"}
	as(nobody, nobody, []uint32{group}, func() {
		c, err := Dial(hub)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		if _, err := c.Show(); err != nil {
			t.Error(err)
		}
	})
	as(nobody, nobody, nil, func() {
		if _, err := Dial(hub); !errors.Is(err, ErrPermission) || !strings.Contains(err.Error(), "join the group daemon") {
			t.Errorf("a stranger: %v", err)
		}
	})
	st, err := os.Stat(filepath.Join(service, "srd0.sock"))
	if err != nil || st.Mode().Perm() != 0o660 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if names, err := rundir.Names(); err != nil || len(names) != 1 || names[0] != "srd0" {
		t.Errorf("%v, %v", names, err)
	}
}

// A reply that never ends takes no more memory than the longest reply to that request.
func TestEndlessRepliesTakeLittle(t *testing.T) {
	runDir(t)
	path, err := rundir.Path("srd0", rundir.Socket)
	must(t, err)
	must(t, rundir.Make())
	l, err := net.Listen("unix", path)
	must(t, err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				for part := bytes.Repeat([]byte(`{"status":`), 1<<12); err == nil; {
					_, err = c.Write(part)
				}
				c.Close()
			}()
		}
	}()
	for _, req := range []request{
		{Op: opVersion}, {Op: opDown}, {Op: opRestarting}, {Op: opEvents}, {Op: opFlows}, {Op: opPing}, {Op: opChange, Change: &Change{How: HowReload}},
		{Op: opConfig}, {Op: opShow, Brief: true}, {Op: opShow, Reached: true}, {Op: opShow, Peer: "hub"}, {Op: opShow},
	} {
		c := dial(t, "srd0")
		used := allocated(func() {
			if _, err := c.do(req); err == nil || !strings.Contains(err.Error(), "the reply is longer than") {
				t.Errorf("%+v: %v", req, err)
			}
		})
		c.Close()
		if most := req.replyBound(); used > uint64(most+most/4+freeBytes) || most == maxReply && req != (request{Op: opShow}) {
			t.Errorf("%+v: %d KB for a bound of %d KB", req, used>>10, most>>10)
		}
	}
}

// The client accepts replies only from root, from its own user, or from the service to which the
// socket's directory belongs.
func TestOwnersAnswer(t *testing.T) {
	const user, other = 1234, 4321
	dir := runDir(t)
	at := rundir.Place{Service: "hub", Device: "srd0"}
	got := planted(t, filepath.Join(dir, "hub", "srd0.sock"), user)
	defer got()
	c := dialAt(t, at)
	c.Close()
	must(t, os.Chown(filepath.Join(dir, "hub"), other, other))
	if c, err := Dial(at); !errors.Is(err, ErrUntrusted) {
		t.Errorf("connected to %v: error %v", c, err)
	}
}

// If a daemon reports the name of another daemon's interface, it is not shown under that name.
func TestStatusHasTheNameThatWasAsked(t *testing.T) {
	runDir(t)
	start(t, "srd1", &recorder{status: Status{Interface: "srd0"}})
	if st, err := dial(t, "srd1").Show(); err != nil || st.Interface != "srd1" {
		t.Errorf("%+v, %v", st, err)
	}
}
