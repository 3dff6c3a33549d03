package daemon

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/uevent"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/srd/mono"
)

// Each kind of event must occur in a test: in this package as its constant, or in the end-to-end
// tests by its name.
func TestEveryKindIsWantedByATest(t *testing.T) {
	var tests [][]byte
	for _, pattern := range []string{"*_test.go", "internal/*/*_test.go", "../../e2e/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%q, %v", files, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			must(t, err)
			tests = append(tests, text)
		}
	}
	names := kindNames(t)
	for _, a := range events.All {
		wanted := func(text []byte) bool {
			return bytes.Contains(text, []byte("events."+names[a.Kind])) || bytes.Contains(text, []byte(string(a.Kind)+": ")) ||
				bytes.Contains(text, []byte(`"`+string(a.Kind)+`"`)) || bytes.Contains(text, []byte(`"`+string(a.Kind)+` `))
		}
		if names[a.Kind] == "" || !slices.ContainsFunc(tests, wanted) {
			t.Errorf("no test wants %s", a.Kind)
		}
	}
}

// kindNames returns the constants of all kinds.
func kindNames(t *testing.T) map[events.Kind]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../events/kind.go", nil, 0)
	must(t, err)
	names := map[events.Kind]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if text, ok := v.Values[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
				names[events.Kind(strings.Trim(text.Value, `"`))] = v.Names[0].Name
			}
		}
		return true
	})
	return names
}

// The daemon reports a route that leads packets to an endpoint into the tunnel, and reports when
// the route no longer exists.
func TestRoutingLoopComesAndGoes(t *testing.T) {
	uplink(t)
	runDir(t)
	r := up(t, parse(t, "127.0.0.1:5999", "198.51.100.9:5999"))
	r.told(events.Started)
	for i := range 2 {
		ip(t, "route", "add", "198.51.100.0/24", "dev", "srdd0")
		until(t, "the loop", func() bool { return r.count(events.RoutingLoop) == i+1 })
		if n := r.count(events.LoopGone); n != i {
			t.Errorf("gone %d times, want %d", n, i)
		}
		ip(t, "route", "del", "198.51.100.0/24", "dev", "srdd0")
		until(t, "its end", func() bool { return r.count(events.LoopGone) == i+1 })
	}
	for _, kind := range []events.Kind{events.RoutingLoop, events.LoopGone} {
		if e := r.told(kind); e.Peer != "near" || !strings.Contains(e.Text, "198.51.100.9:5999") {
			t.Errorf("told %+v", e)
		}
	}
	r.cancel()
	r.wait()
}

// A routing loop ends when its endpoint is removed. `srdtun show` lists the loop only as long as it
// exists.
func TestRoutingLoopGoesWithItsEndpoint(t *testing.T) {
	uplink(t)
	runDir(t)
	r := up(t, parse(t, "127.0.0.1:5999", "198.51.100.9:5999"))
	r.told(events.Started)
	ip(t, "route", "add", "198.51.100.0/24", "dev", "srdd0")
	until(t, "the loop", func() bool { return len(r.server.endpoints.standing.all()) == 1 })
	c, err := control.Dial(rundir.Place{Device: "srdd0"})
	must(t, err)
	defer c.Close()
	change := control.Change{How: control.HowSet, Settings: []control.Setting{{Key: "peer.near.endpoints", Value: "192.0.2.9:5999"}}}
	if _, err := c.Change(change); err != nil {
		t.Fatal(err)
	}
	until(t, "its end", func() bool { return r.count(events.LoopGone) == 1 && len(r.server.endpoints.standing.all()) == 0 })
	r.cancel()
	r.wait()
}

// The host loses its only address and route, and gets them back.
func TestNoWayIsTold(t *testing.T) {
	uplink(t)
	runDir(t)
	r := up(t, parse(t, "127.0.0.1:5999", "198.51.100.9:5999", "[paths]\n", "[paths]\nlocal = [\"srdw0\"]\n"))
	r.told(events.Started)
	ip(t, "addr", "del", "192.0.2.1/24", "dev", "srdw0")
	if e := r.said(events.NoWay, "198.51.100.9:5999"); e.Peer != "near" {
		t.Errorf("told %+v", e)
	}
	ip(t, "addr", "add", "192.0.2.1/24", "dev", "srdw0")
	ip(t, "route", "add", "default", "via", "192.0.2.254", "dev", "srdw0")
	if e := r.said(events.WayBack, "peer near: "); e.Peer != "near" {
		t.Errorf("told %+v", e)
	}
	r.cancel()
	r.wait()
}

// An interface of paths.local appears after the start, is removed, and appears again.
func TestMissingInterfaceIsTold(t *testing.T) {
	runDir(t)
	r := up(t, parse(t, "[paths]\n", "[paths]\nlocal = [\"srdw0\"]\n"))
	if e := r.told(events.LocalMissing); !strings.Contains(e.Text, "there is no interface srdw0") {
		t.Errorf("told %+v", e)
	}
	if st := shown(t); !slices.Equal(st.Missing, []string{"srdw0"}) {
		t.Errorf("missing %q", st.Missing)
	}
	l := uplink(t)
	if e := r.told(events.LocalBack); !strings.Contains(e.Text, "srdw0 has an address") {
		t.Errorf("told %+v", e)
	}
	if st := shown(t); len(st.Missing) > 0 {
		t.Errorf("missing %q", st.Missing)
	}
	a, _ := netlink.ParseAddr("192.0.2.1/24")
	must(t, netlink.AddrDel(l, a))
	ip(t, "-6", "addr", "flush", "dev", "srdw0")
	until(t, "that it is missing again", func() bool { return r.count(events.LocalMissing) == 2 })
	r.cancel()
	r.wait()
}

// The start reports faults of the host and of the configuration.
func TestWarningsOfTheStart(t *testing.T) {
	l := uplink(t)
	must(t, os.WriteFile("/proc/sys/net/ipv4/conf/"+l.Attrs().Name+"/rp_filter", []byte("1"), 0o644))
	runDir(t)
	r := upWith(t, Options{
		Config:  parse(t, `"10.81.0.0/16"`, `"0.0.0.0/0"`, "[paths]\n", "[metrics]\nlisten = \"10.80.0.1:9586\"\n[paths]\n"),
		Confine: func() error { return errors.New("no privileges to give up") },
	})
	r.said(events.HostSetting, "rp_filter is strict on srdw0")
	r.said(events.HostSetting, "metrics has no password: everybody who can reach 10.80.0.1:9586 can read it")
	r.said(events.PrivilegesKept, "no privileges to give up")
	r.cancel()
	r.wait()
}

// The daemon reports changes from every source, requests that change nothing, and refused requests.
func TestChangesAreTold(t *testing.T) {
	runDir(t)
	want := parse(t)
	again, done := make(chan os.Signal, 1), make(chan error, 1)
	r := upWith(t, Options{
		Config: parse(t), Load: func() (*config.Config, error) { return want, nil },
		Again: again, Reloaded: func(err error) { done <- err },
	})
	reread := func() error {
		again <- syscall.SIGHUP
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			t.Fatal("it is not read again")
			return nil
		}
	}
	if err := reread(); err != nil {
		t.Error(err)
	}
	r.said(events.ConfigChanged, "read again: nothing has changed")
	want = parse(t, "source_ports = 4", "source_ports = 4\npolicy = \"ecmp\"")
	if err := reread(); err != nil {
		t.Error(err)
	}
	r.said(events.ConfigChanged, `changed: ~ paths.policy = default -> "ecmp"`)
	ip(t, "addr", "add", "10.77.0.1/24", "dev", "lo")
	t.Cleanup(func() { ip(t, "addr", "del", "10.77.0.1/24", "dev", "lo") })
	want = parse(t, "10.80.0.1/24", "10.77.0.1/24")
	if err := reread(); err == nil {
		t.Error("lo's address is taken")
	}
	r.said(events.ConfigRefused, "not changed: srdd0.toml: interface.address: interface srdd0: address 10.77.0.1/24: lo has it already")
	if _, err := ask(t, control.Change{How: control.HowSet, Settings: []control.Setting{{Key: "paths.policy", Value: "none"}}}); err == nil {
		t.Error("no such policy")
	}
	r.said(events.ConfigRefused, `unknown policy "none"`)
	r.cancel()
	r.wait()
}

// A faulty drop-in file is reported once: at the daemon's start, or when the file appears.
func TestWrongDropInIsTold(t *testing.T) {
	runDir(t)
	dir := t.TempDir()
	put := func(name, text string) { // atomically, because the daemon may read the directory at any time
		t.Helper()
		aside := filepath.Join(dir, "."+name)
		must(t, os.WriteFile(aside, []byte(text), 0o600))
		must(t, os.Rename(aside, filepath.Join(dir, name)))
	}
	put("first.toml", "[[peer]]\npublic_key = 'x'\n")
	r := up(t, parse(t, "[paths]\n", "[peers]\ndir = \""+dir+"\"\n[paths]\n"))
	r.said(events.DropInRefused, "left out: "+dir+"/first.toml:2: peer.public_key: ")
	put("second.toml", "[[peer]]\npublic_key = 'y'\n")
	r.said(events.DropInRefused, "left out: "+dir+"/second.toml:2: peer.public_key: ")
	if n := r.count(events.DropInRefused); n != 2 {
		t.Errorf("told %q", texts(r.server.log))
	}
	r.cancel()
	r.wait()
}

// A stop of the process is reported with its length. Late ticks are not.
func TestStallIsTold(t *testing.T) {
	s := newServer(parse(t), newEventLog(false))
	now := mono.Time(time.Hour)
	for _, pass := range []time.Duration{0, aliveEvery, 2 * aliveEvery, aliveEvery} {
		now = now.Add(pass)
		s.observer.tellStall(now)
	}
	if said := texts(s.log); len(said) != 0 {
		t.Errorf("told %q", said)
	}
	for range 2 {
		now = now.Add(90 * time.Second)
		s.observer.tellStall(now)
	}
	said := s.log.after(0).Events
	if len(said) != 2 || said[0].Kind != events.ProcessStalled || said[0].Text != "the process did not run for about 1m30s" {
		t.Errorf("told %q", texts(s.log))
	}
}

// When the kernel announces that the machine is a copy, the daemon reports this, and begins a new
// session.
func TestCopyIsTold(t *testing.T) {
	runDir(t)
	a, b := up(t, parse(t)), up(t, other(t))
	if _, err := dial(t, "srdd0").Ping("near", false); err != nil {
		t.Fatal(err)
	}
	must(t, uevent.Send(uevent.VMGenID...))
	a.told(events.MachineCopied)
	b.told(events.MachineCopied) // which is on the same one
	if _, err := dial(t, "srdd0").Ping("near", false); err != nil {
		t.Error(err)
	}
	for _, r := range []*running{a, b} {
		r.cancel()
		r.wait()
	}
}

// A handshake with an unknown public key is reported with that key.
func TestStrangerIsTold(t *testing.T) {
	runDir(t)
	a, b := up(t, parse(t, key(t, 2), key(t, 7))), up(t, other(t))
	if e := a.told(events.StrangerRefused); e.Attributes["reason"] != "unknown_peer" || e.Attributes["key"] != key(t, 2) {
		t.Errorf("told %+v", e)
	}
	for _, r := range []*running{b, a} {
		r.cancel()
		r.wait()
	}
}
