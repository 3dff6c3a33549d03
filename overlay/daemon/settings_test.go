package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/srd"
	"github.com/vishvananda/netlink"
)

// ask sends one request to the running daemon.
func ask(t *testing.T, c control.Change) ([]string, error) {
	t.Helper()
	d, err := control.Dial(rundir.Place{Device: "srdd0"})
	must(t, err)
	defer d.Close()
	diff, err := d.Change(c)
	var keys []string
	for _, v := range diff.Differences {
		keys = append(keys, v.Key)
	}
	return keys, err
}

// accepted is like ask, for a change that the daemon must accept.
func accepted(t *testing.T, c control.Change) {
	t.Helper()
	_, err := ask(t, c)
	must(t, err)
}

func shown(t *testing.T) *control.Status {
	t.Helper()
	d, err := control.Dial(rundir.Place{Device: "srdd0"})
	must(t, err)
	defer d.Close()
	st, err := d.Show()
	must(t, err)
	return st
}

// until waits until the daemon has fulfilled a condition by itself.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

func names(st *control.Status) (v []string) {
	for _, p := range st.Peers {
		v = append(v, p.Name)
	}
	return v
}

// leadsHere reports whether packets to an address enter the tunnel.
func leadsHere(t *testing.T, to string) bool {
	t.Helper()
	link, err := netlink.LinkByName("srdd0")
	must(t, err)
	v, err := netlink.RouteGet(net.ParseIP(to))
	return err == nil && len(v) == 1 && v[0].LinkIndex == link.Attrs().Index
}

// far returns the configuration of a further peer.
func far(t *testing.T) string {
	return "[[peer]]\nname = \"far\"\npublic_key = \"" + key(t, 4) + "\"\nallowed_ips = [\"10.82.0.0/16\", \"fd81::/64\"]\n"
}

func TestReloadChangesPeers(t *testing.T) {
	run := runDir(t)
	before := state(t, run)
	r := up(t, parse(t))
	text := string(config.Format(parse(t, `, "fd81::/64"`, "", `"10.80.0.3/32"`, `"10.80.0.3/32", "10.83.0.0/16"`, "source_ports = 4", "source_ports = 5",
		`"127.0.0.1:5999"`, `"127.0.0.1:5990", "ends.example:1"`)))
	keys, err := ask(t, control.Change{How: control.HowReload, Config: text + far(t)})
	must(t, err)
	want := []string{"paths.source_ports", "peer.near.endpoints", "peer.near.allowed_ips", "peer.named.allowed_ips", "peer.far"}
	if !slices.Equal(keys, want) {
		t.Errorf("changed %q, want %q", keys, want)
	}
	st := shown(t)
	if !slices.Equal(names(st), []string{"near", "named", "far"}) || !slices.Equal(st.Pending, []string{"paths.source_ports"}) || len(st.Unsaved) > 0 {
		t.Errorf("peers %q, pending %q, unsaved %q", names(st), st.Pending, st.Unsaved)
	}
	if e := st.Peers[0].Endpoints; !slices.Equal(e, []string{"127.0.0.1:5990", "ends.example:1"}) {
		t.Errorf("endpoints %q", e)
	}
	for _, to := range []string{"10.82.0.1", "10.83.0.1", "fd81::5", "10.81.0.1"} {
		if !leadsHere(t, to) {
			t.Errorf("no route to %s", to)
		}
	}
	// The old configuration is applied again. Nothing of the new one remains.
	accepted(t, control.Change{How: control.HowReload, Config: string(config.Format(parse(t)))})
	if st = shown(t); !slices.Equal(names(st), []string{"near", "named"}) || len(st.Pending) > 0 {
		t.Errorf("peers %q, pending %q", names(st), st.Pending)
	}
	if leadsHere(t, "10.82.0.1") || leadsHere(t, "10.83.0.1") {
		t.Error("a route of a peer that is gone")
	}
	r.cancel()
	r.wait()
	sameState(t, run, before)
}

// network returns the state without descriptors, because the tests' own connections also use
// descriptors.
func network(t *testing.T, run string) []string {
	return slices.DeleteFunc(state(t, run), func(s string) bool { return strings.HasPrefix(s, "descriptors ") })
}

// An invalid or impossible request changes nothing.
func TestRefusedChanges(t *testing.T) {
	run := runDir(t)
	taken := addLink(t, &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "srdd9"}, PeerName: "srdd8"})
	must(t, netlink.RouteAdd(&netlink.Route{LinkIndex: taken.Attrs().Index, Dst: &net.IPNet{IP: net.IPv4(10, 82, 0, 0), Mask: net.CIDRMask(16, 32)}}))
	r := up(t, parse(t))
	// The kernel adds the route of an IPv6 address with a delay.
	until(t, "route of the address", func() bool {
		return slices.ContainsFunc(network(t, run), func(s string) bool { return strings.Contains(s, "Dst: fd80::1/128") })
	})
	before := network(t, run)
	text := string(config.Format(parse(t)))
	for _, c := range []struct {
		name string
		what control.Change
		want string
		bad  bool
	}{
		{"nonsense", control.Change{How: control.HowReload, Config: "x"}, "srdd0.toml:1: ", true},
		{"a peer twice", control.Change{How: control.HowSync, Config: text + strings.Replace(far(t), key(t, 4), key(t, 2), 1)}, "belongs to the peer of line", true},
		{"somebody's file", control.Change{How: control.HowReload, Config: strings.Replace(text, "private_key = ", "private_key_file = '/etc/shadow' # ", 1)}, "may not name a file", true},
		{"a route that is taken", control.Change{How: control.HowReload, Config: strings.Replace(text, `, "fd81::/64"`, "", 1) + far(t)}, "the main routing table has one already, by srdd9", false},
		{"prefix of another", control.Change{How: control.HowAdd, Config: strings.Replace(far(t), "10.82.0.0/16", "10.81.0.0/16", 1)}, "10.81.0.0/16 belongs to peer near already", true},
		{"more than peers", control.Change{How: control.HowAdd, Config: "[paths]\n"}, "only [[peer]] can be added", true},
		{"no peer", control.Change{How: control.HowSet, Settings: []control.Setting{{Key: "peer.x.endpoints", Value: "a:1"}}}, `no peer is named "x"`, true},
		{"one of two", control.Change{How: control.HowSet, Settings: []control.Setting{{Key: "peer.near.endpoints", Value: "a:1"}, {Key: "peer.near.allowed_ips", Value: "a"}}}, "not an IP prefix", true},
		{"no file", control.Change{How: control.HowReload}, "cannot read its file", true},
		{"no way", control.Change{How: "x"}, `a change by "x"`, false},
	} {
		_, err := ask(t, c.what)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, control.ErrConfig) != c.bad || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if after := network(t, run); !slices.Equal(after, before) {
			t.Errorf("%s: %q, before %q", c.name, after, before)
		}
		if st := shown(t); len(st.Unsaved)+len(st.Pending) > 0 || len(st.Peers) != 2 {
			t.Errorf("%s: %+v", c.name, st)
		}
	}
	r.cancel()
	r.wait()
}

// A key that was changed at run time is listed as different from the file until a reload or a save.
func TestSetIsToldApart(t *testing.T) {
	runDir(t)
	r := up(t, parse(t))
	set := control.Change{How: control.HowSet, Settings: []control.Setting{
		{Key: "peer.near.persistent_keepalive", Value: "25"}, {Key: "peer.near.preshared_key", Value: key(t, 9)}, {Key: "interface.address", Value: "10.80.0.9/24"},
	}}
	accepted(t, set)
	want := []string{"interface.address", "peer.near.preshared_key", "peer.near.persistent_keepalive"}
	st := shown(t)
	if !slices.Equal(st.Unsaved, want) || st.Peers[0].PersistentKeepaliveS != 25 || !st.Peers[0].HasPresharedKey {
		t.Errorf("unsaved %q of %+v", st.Unsaved, st.Peers[0])
	}
	set.Settings, set.Save = append(set.Settings[:2:2], control.Setting{Key: "interface.mtu", Value: "1400"}), true
	accepted(t, set)
	if st = shown(t); !slices.Equal(st.Unsaved, want) || len(st.Pending) > 0 {
		t.Errorf("unsaved %q, pending %q before a part was saved", st.Unsaved, st.Pending)
	}
	set.How = control.HowSaved
	accepted(t, set)
	if st = shown(t); !slices.Equal(st.Pending, []string{"interface.mtu"}) {
		t.Errorf("pending %q after a part was saved", st.Pending)
	}
	if st = shown(t); !slices.Equal(st.Unsaved, want[:1]) {
		t.Errorf("unsaved %q after a part was saved", st.Unsaved)
	}
	d, err := control.Dial(rundir.Place{Device: "srdd0"})
	must(t, err)
	defer d.Close()
	text, err := d.Config()
	if err != nil || !strings.Contains(text, `address = ["10.80.0.9/24"]`) || !strings.Contains(text, key(t, 9)) {
		t.Errorf("%s%v", text, err)
	}
	// A change turns the interface into a full tunnel, whose outer packets get a mark of their own.
	accepted(t, control.Change{How: control.HowSet, Settings: []control.Setting{{Key: "peer.near.allowed_ips", Value: "0.0.0.0/0"}}})
	if st = shown(t); st.FwMark == 0 || !leadsHere(t, "198.51.100.1") {
		t.Errorf("mark %d, route %v", st.FwMark, leadsHere(t, "198.51.100.1"))
	}
	r.cancel()
	r.wait()
}

// Peers are added and removed with their drop-in files. Only a faulty file is left out.
func TestDropInsAreWatched(t *testing.T) {
	runDir(t)
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(dir, "."+name), []byte(text), 0o600))
		must(t, os.Rename(filepath.Join(dir, "."+name), filepath.Join(dir, name)))
	}
	put("far.toml", far(t))
	c := parse(t, "[paths]\n", "[peers]\ndir = \""+dir+"\"\n[paths]\n", `, "fd81::/64"`, "")
	r := up(t, c)
	if v := names(shown(t)); !slices.Equal(v, []string{"near", "named", "far"}) {
		t.Fatalf("peers %q", v)
	}
	put("bad.toml", "[[peer]]\npublic_key = 'x'\n")
	put("more.toml", strings.NewReplacer("far", "more", key(t, 4), key(t, 5), "10.82.", "10.83.", `, "fd81::/64"`, "").Replace(far(t)))
	until(t, "a peer that comes", func() bool { return slices.Equal(names(shown(t)), []string{"near", "named", "far", "more"}) })
	// A key that was changed at run time keeps its value when another peer's file is removed.
	accepted(t, control.Change{How: control.HowSet, Settings: []control.Setting{{Key: "peer.more.endpoints", Value: "192.0.2.7:7"}}})
	must(t, os.Remove(filepath.Join(dir, "far.toml")))
	until(t, "a peer that goes", func() bool { return slices.Equal(names(shown(t)), []string{"near", "named", "more"}) })
	if st := shown(t); !slices.Equal(st.Peers[2].Endpoints, []string{"192.0.2.7:7"}) || !slices.Equal(st.Unsaved, []string{"peer.more.endpoints"}) || leadsHere(t, "10.82.0.1") {
		t.Errorf("%+v, unsaved %q", st.Peers[2], st.Unsaved)
	}
	// Another directory takes effect only at the next start.
	text := string(config.Format(parse(t, "[paths]\n", "[peers]\ndir = \"/none/such\"\n[paths]\n", `, "fd81::/64"`, "")))
	if keys, err := ask(t, control.Change{How: control.HowReload, Config: text}); err != nil || !slices.Equal(shown(t).Pending, []string{"peers.dir"}) {
		t.Errorf("another directory: changed %q, pending %q, %v", keys, shown(t).Pending, err)
	}
	if v := names(shown(t)); !slices.Equal(v, []string{"near", "named", "more"}) {
		t.Errorf("with another directory: peers %q", v)
	}
	// The directory is removed, and created again with another file in it.
	must(t, os.Rename(dir, dir+".old"))
	must(t, os.Mkdir(dir, 0o700))
	put("far.toml", far(t))
	until(t, "another directory", func() bool { return slices.Equal(names(shown(t)), []string{"near", "named", "far"}) })
	r.cancel()
	r.wait()
	must(t, os.RemoveAll(dir))
	runDir(t)
	if err := Run(t.Context(), Options{Config: c, Log: func(events.Event) {}}); err == nil || !strings.Contains(err.Error(), "peers.dir: "+dir+": no such file") {
		t.Errorf("without its directory: %v", err)
	}
}

// A guest is removed when this host gets an address in the guest's prefix, and is restored when the
// address is removed.
func TestGuestGivesWayToTheHost(t *testing.T) {
	runDir(t)
	_, section := guests(t, "[[peer]]\nname = \"guest\"\npublic_key = \""+key(t, 7)+"\"\nallowed_ips = \"10.9.0.0/30\"\n")
	r := up(t, parse(t, "[paths]\n", section+"[paths]\n"))
	is := func(want ...string) func() bool { return func() bool { return slices.Equal(names(shown(t)), want) } }
	until(t, "the guest", is("near", "named", "guest"))
	ip(t, "addr", "add", "10.9.0.2/32", "dev", "lo")
	until(t, "the guest gives way", is("near", "named"))
	r.said(events.DropInRefused, "10.9.0.0/30 contains 10.9.0.2, an address of this host")
	ip(t, "addr", "del", "10.9.0.2/32", "dev", "lo")
	until(t, "the guest is back", is("near", "named", "guest"))
	r.cancel()
	r.wait()
}

// inUse returns the bytes in use from the heap profile. The key is the list of functions on the
// allocating stack, innermost first.
func inUse() map[string]int64 {
	records := make([]runtime.MemProfileRecord, 10_000)
	n, _ := runtime.MemProfile(records, false)
	v := map[string]int64{}
	for _, r := range records[:n] {
		var by strings.Builder
		frames := runtime.CallersFrames(r.Stack())
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			by.WriteString(" < " + f.Function[strings.LastIndexByte(f.Function, '/')+1:])
		}
		v[by.String()] += r.InUseBytes()
	}
	return v
}

// grown returns a line for each allocating stack that grew by more than 4 KB, the largest growth
// first.
func grown(from, to map[string]int64) string {
	var by []string
	for k := range to {
		if to[k]-from[k] > 4<<10 {
			by = append(by, k)
		}
	}
	slices.SortFunc(by, func(a, b string) int { return cmp.Compare(to[b]-from[b], to[a]-from[a]) })
	for i, k := range by {
		by[i] = fmt.Sprintf("%d%s", to[k]-from[k], k)
	}
	return strings.Join(by, "\n")
}

// Peers that are added and removed leave no goroutines, no descriptors and almost no memory.
func TestChangesLeakNothing(t *testing.T) {
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 4 << 10
	run := runDir(t)
	r := up(t, parse(t))
	// The names are reused, because the event log keeps state for each name. The log's own tests
	// check the bound of that state.
	const fars = 20
	change := func(rounds int) {
		for i := range rounds {
			text := strings.NewReplacer("far", fmt.Sprintf("far%d", i%fars)).Replace(far(t))
			accepted(t, control.Change{How: control.HowReload, Config: string(config.Format(parse(t, `, "fd81::/64"`, ""))) + text})
			accepted(t, control.Change{How: control.HowReload, Config: string(config.Format(parse(t)))})
		}
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	change(fars)
	files := func() int {
		v, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		return len(v)
	}
	before, goroutines, open, bytes := network(t, run), runtime.NumGoroutine(), files(), heap()
	held := inUse()
	change(200)
	until(t, "goroutines and descriptors to end", func() bool { return runtime.NumGoroutine() <= goroutines && files() <= open })
	if after := network(t, run); !slices.Equal(after, before) {
		t.Errorf("%q, before %q", after, before)
	}
	// A connection takes 8 KB, so two hundred leaked connections would take many times this limit.
	// Memory in pools, or still in use elsewhere, survives two garbage collections. Each processor
	// may keep the buffer of one train.
	most := bytes + 200<<10 + uint64(runtime.GOMAXPROCS(0)*srd.MaxTrainBytes)
	within := func() bool { return heap() <= most }
	for end := time.Now().Add(patience); !within() && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	if last := heap(); last > most {
		t.Errorf("%d bytes more than before, at most %d; of those in use, by samples:\n%s", last-bytes, most-bytes, grown(held, inUse()))
	}
	r.cancel()
	r.wait()
}
