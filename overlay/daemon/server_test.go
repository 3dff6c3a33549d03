package daemon

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// patience is the time after which a blocked test fails.
const patience = 20 * time.Second

// text is a configuration with two peers. The endpoint of one peer has a name that must be looked
// up.
const text = `
[interface]
name = "srdd0"
private_key = "%s"
address = ["10.80.0.1/24", "fd80::1/64"]
listen_port = 5555
[paths]
source_ports = 4
port_range = "6000-6010"
[[peer]]
name = "near"
public_key = "%s"
endpoints = ["127.0.0.1:5999"]
allowed_ips = ["10.80.0.2/32", "10.81.0.0/16", "fd81::/64"]
[[peer]]
name = "named"
public_key = "%s"
endpoints = ["localhost:5998"]
allowed_ips = ["10.80.0.3/32"]
`

func key(t *testing.T, n byte) string {
	t.Helper()
	id, err := handshake.NewIdentity(handshake.PrivateKey{8 * n})
	must(t, err)
	return config.Key(id.Public()).String()
}

// parse returns text as a configuration, after replacements.
func parse(t *testing.T, oldnew ...string) *config.Config {
	t.Helper()
	private := make([]byte, 32)
	private[0], private[31] = 8, 64
	s := fmt.Sprintf(text, base64.StdEncoding.EncodeToString(private), key(t, 2), key(t, 3))
	c, err := config.Parse("srdd0.toml", []byte(strings.NewReplacer(oldnew...).Replace(s)))
	must(t, err)
	return c
}

// running is a daemon that is up.
type running struct {
	t       *testing.T
	cancel  context.CancelFunc
	done    chan error
	stopped atomic.Bool
	server  *server
	story   *eventLog // its events
}

// told waits for an event of the given kind, and returns it.
func (r *running) told(kind events.Kind) events.Event {
	r.t.Helper()
	return r.said(kind, "")
}

// said is like told, but waits for an event whose text contains `part`.
func (r *running) said(kind events.Kind, part string) events.Event {
	r.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, e := range r.story.after(0).Events {
			if e.Kind == kind && strings.Contains(e.Text, part) {
				return e
			}
		}
	}
	r.t.Fatalf("it does not tell of %s %q, but of %q", kind, part, texts(r.story))
	return events.Event{}
}

// count returns the number of events of the given kind so far. It reads the daemon's own log. A
// goroutine passes the events on to other readers, which under load do not have the latest ones
// yet.
func (r *running) count(kind events.Kind) (n int) {
	for _, e := range r.server.log.after(0).Events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// texts returns the texts of the events of a log, one line for each event.
func texts(s *eventLog) (v []string) {
	for _, e := range s.after(0).Events {
		v = append(v, string(e.Kind)+" "+e.Text)
	}
	return v
}

// up runs a daemon and returns when it is ready.
func up(t *testing.T, c *config.Config) *running {
	t.Helper()
	return upWith(t, Options{Config: c})
}

// upWith is like up, but takes all options.
func upWith(t *testing.T, o Options) *running {
	t.Helper()
	return start(t, newServer(o.Config, newEventLog(o.Verbose)), o)
}

// start is like upWith, but runs a server that the test has prepared.
func start(t *testing.T, s *server, o Options) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, cancel: cancel, done: make(chan error, 1), server: s}
	ready := make(chan struct{})
	r.story = newEventLog(false)
	o.Ready = func() { close(ready) }
	o.Log = func(e events.Event) {
		if r.stopped.Load() {
			t.Errorf("after the end: %+v", e)
		}
		r.story.add(e)
	}
	go func() {
		err := r.server.run(ctx, o)
		r.stopped.Store(true)
		r.done <- err
	}()
	select {
	case <-ready:
	case err := <-r.done:
		t.Fatalf("Run: %v", err)
	case <-time.After(patience):
		t.Fatal("not ready")
	}
	t.Cleanup(cancel)
	return r
}

// wait returns when the daemon has ended without an error.
func (r *running) wait() {
	r.t.Helper()
	select {
	case err := <-r.done:
		if err != nil {
			r.t.Errorf("Run: %v", err)
		}
	case <-time.After(patience):
		r.t.Fatal("it does not end")
	}
}

func runDir(t *testing.T) string {
	dir := t.TempDir()
	t.Setenv(rundir.Env, dir)
	return dir
}

func TestUpAndDown(t *testing.T) {
	run := runDir(t)
	for range 2 { // the second daemon starts only if the first has removed everything
		before := state(t, run)
		r := up(t, parse(t))
		wantUp(t)
		r.cancel()
		r.wait()
		sameState(t, run, before)
	}
}

// wantUp checks the visible state of the daemon on its host.
func wantUp(t *testing.T) {
	t.Helper()
	link, err := netlink.LinkByName("srdd0")
	must(t, err)
	addrs, err := netlink.AddrList(link, unix.AF_INET)
	if err != nil || len(addrs) != 1 || addrs[0].IPNet.String() != "10.80.0.1/24" {
		t.Errorf("addresses %v, %v", addrs, err)
	}
	for _, to := range []string{"10.80.0.2", "10.81.3.4", "fd81::5"} {
		v, err := netlink.RouteGet(net.ParseIP(to))
		if err != nil || len(v) != 1 || v[0].LinkIndex != link.Attrs().Index {
			t.Errorf("route to %s: %v, %v", to, v, err)
		}
	}
	c, err := control.Dial(rundir.Place{Device: "srdd0"})
	must(t, err)
	defer c.Close()
	st, err := c.Show()
	must(t, err)
	if st.Interface != "srdd0" || st.ListenPort != 5555 || len(st.Peers) != 2 {
		t.Errorf("%+v", st)
	}
}

func TestDownByRequest(t *testing.T) {
	run := runDir(t)
	before := state(t, run)
	r := up(t, parse(t))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		c, err := control.Dial(rundir.Place{Device: "srdd0"})
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		// Down would wait for the end of this process, in which the daemon runs.
		_, _ = c.Down(ctx)
	}()
	r.wait()
	cancel()
	<-asked
	sameState(t, run, before)
}

// The daemon can be stopped at any time, whatever its other goroutines are doing.
func TestDownAtOnce(t *testing.T) {
	run := runDir(t)
	before := state(t, run)
	for range 20 {
		r := up(t, parse(t))
		r.cancel()
		r.wait()
	}
	sameState(t, run, before)
}

// A blocked name lookup does not delay the end of the daemon, and causes no error there.
func TestDownDuringLookup(t *testing.T) {
	run := runDir(t)
	before := state(t, run)
	asked := make(chan struct{}, 64)
	old := net.DefaultResolver
	defer func() { net.DefaultResolver = old }()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	r := up(t, parse(t, "localhost", "peer.example"))
	<-asked
	r.cancel()
	r.wait()
	sameState(t, run, before)
}

// If the device is deleted, the daemon must report this, end, and leave no state behind.
func TestDeviceIsDeleted(t *testing.T) {
	run := runDir(t)
	before := state(t, run)
	r := up(t, parse(t))
	link, err := netlink.LinkByName("srdd0")
	must(t, err)
	must(t, netlink.LinkDel(link))
	select {
	case err := <-r.done:
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line", err)
		}
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	sameState(t, run, before)
}

// A second daemon with the same interface name is refused, and does not disturb the first.
func TestSecondDaemon(t *testing.T) {
	run := runDir(t)
	before := state(t, run)
	r := up(t, parse(t))
	err := Run(context.Background(), Options{Config: parse(t), Log: func(events.Event) {}, Ready: func() { t.Error("ready") }})
	if err == nil || err.Error() != "srdd0 is already running" {
		t.Errorf("error %v", err)
	}
	wantUp(t)
	r.cancel()
	r.wait()
	sameState(t, run, before)
}

// Each failure of the setup is reported in one line that names the cause, and leaves nothing
// behind.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T)
		want    string
	}{
		{"port", func(t *testing.T) { listen(t, 5555) }, "srdd0.toml: interface.listen_port: another process has the port (udp: port 5555"},
		{"range", func(t *testing.T) {
			for p := 6000; p < 6009; p++ {
				listen(t, p)
			}
		}, "srdd0.toml: paths.port_range: other processes have the ports (udp: only 3 of 4 ports are free in 6000-6010)"},
		{"address", func(t *testing.T) {
			lo, err := netlink.LinkByName("lo")
			must(t, err)
			a := &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(10, 80, 0, 1), Mask: net.CIDRMask(32, 32)}}
			must(t, netlink.AddrAdd(lo, a))
			t.Cleanup(func() { netlink.AddrDel(lo, a) })
		}, "10.80.0.1"},
		{"route", func(t *testing.T) {
			l := addLink(t, &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "srdd9"}, PeerName: "srdd8"})
			p := netip.MustParsePrefix("10.81.0.0/16")
			dst := &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}
			must(t, netlink.RouteAdd(&netlink.Route{LinkIndex: l.Attrs().Index, Dst: dst}))
		}, "10.81.0.0/16"},
		{"TUN device of the name", func(t *testing.T) {
			addLink(t, &netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: "srdd0"}, Mode: netlink.TUNTAP_MODE_TUN})
		}, "srdd0"},
		{"other device of the name", func(t *testing.T) {
			addLink(t, &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "srdd0"}, PeerName: "srdd1"})
		}, "srdd0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := runDir(t)
			c.prepare(t)
			before := state(t, run)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			err := Run(ctx, Options{Config: parse(t), Log: func(events.Event) {}, Ready: func() { t.Error("ready") }})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q, want one line with %q", fmt.Sprint(err), c.want)
			}
			// The configuration is valid, and the next start may succeed on a changed host. So the
			// error must not blame the configuration.
			if errors.As(err, new(*config.Error)) {
				t.Errorf("%v counts as a fault of the file", err)
			}
			sameState(t, run, before)
		})
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
