package view

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/srdtun/srdtun/overlay/control"
)

var update = flag.Bool("update", false, "write the screens in testdata and docs/monitoring.md anew")

// screensFile is the document with the screens. A line before each screen has its name.
const screensFile = "../../../../docs/monitoring.md"

// wantScreen compares a screen with the one in testdata, and with the one in the documentation if
// there is one.
func wantScreen(t *testing.T, name, got string) {
	t.Helper()
	got = strings.TrimRight(got, "\n") + "\n"
	file := "testdata/" + name + ".txt"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		paste(t, name, got)
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("%s (%v): go test ./cmd/srdtun/internal/view -update; got\n%s", file, err, got)
	}
	if doc, err := os.ReadFile(screensFile); err != nil {
		t.Error(err)
	} else if mark := screenMark(name); strings.Contains(string(doc), mark) && !strings.Contains(string(doc), mark+got+fence) {
		t.Errorf("docs/monitoring.md has another screen %s: go test ./cmd/srdtun/internal/view -update", name)
	}
}

const fence = "```\n"

func screenMark(name string) string { return "<!-- screen:" + name + " -->\n" + fence }

// paste writes the screen into the documentation, if the documentation has a place for it.
func paste(t *testing.T, name, screen string) {
	t.Helper()
	doc, err := os.ReadFile(screensFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(doc), screenMark(name))
	if !ok {
		return
	}
	_, after, _ := strings.Cut(rest, fence)
	if err := os.WriteFile(screensFile, []byte(before+screenMark(name)+screen+fence+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wantFits fails the test if s has more than `height` lines, or a line of more than `width`
// characters.
func wantFits(t *testing.T, s string, width, height int) {
	t.Helper()
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) > height {
		t.Errorf("%d lines:\n%s", len(lines), s)
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > width {
			t.Errorf("%d characters: %s", n, line)
		}
	}
}

func printed(t *testing.T, st *control.Status, full bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, []*control.Status{st}, Options{Now: now, Full: full}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// An interface with one peer fits a terminal, however many paths there are.
func TestShowFitsAScreen(t *testing.T) {
	wantScreen(t, "show", printed(t, wide(64), false))
	for _, paths := range []int{0, 1, 4, 64, 256} {
		wantFits(t, printed(t, wide(paths), false), 80, 24)
	}
	st := wide(64)
	st.Drops, st.Peers[0].Drops = map[string]uint64{}, map[string]uint64{}
	for i := range 40 {
		st.Drops[fmt.Sprintf("reason_of_device_%d", i)] = 1 << 40
		st.Peers[0].Drops[fmt.Sprintf("reason_of_peer_%d", i)] = 1 << 40
		st.Peers[0].AllowedIPs = append(st.Peers[0].AllowedIPs, fmt.Sprintf("2001:db8:1234:5678:9abc:def0::%x/128", i))
		st.Peers[0].Paths[i].Local = fmt.Sprintf("[2001:db8:1234:5678:9abc:def0:%x:%x]:40000", i, i)
	}
	wantFits(t, printed(t, st, false), 80, 24)
}

// The full screen has all paths and counters.
func TestShowPaths(t *testing.T) {
	s := printed(t, wide(16), true)
	wantScreen(t, "paths", s)
	for i := range 16 {
		if !strings.Contains(s, fmt.Sprintf("  192.0.2.%d:%d  ", i/2%2+1, 40000+i/4)) {
			t.Errorf("path %d is missing", i)
		}
	}
}

// The screen shows what limits sending, with the figure that explains it.
func TestLimitedBy(t *testing.T) {
	for _, tt := range []struct {
		change func(*control.Peer)
		want   string
	}{
		{func(*control.Peer) {}, "congestion window, 62% of the last 1.3 s: queue 3.1ms, aim 2.0ms"},
		{func(p *control.Peer) { p.PathQueueUs = 0 }, "congestion window, 62% of the last 1.3 s: 2.00 MiB"},
		{func(p *control.Peer) { p.Recent.WaitedUs = map[string]uint64{"data": 1_300_000} }, "nothing: applications send less than the paths can carry, 100% of the last 1.3 s"},
		{func(p *control.Peer) { p.Recent.WaitedUs = map[string]uint64{"pacing": 900_000} }, "pacing, 69% of the last 1.3 s to 1.25 Gbit/s"},
		{func(p *control.Peer) { p.Recent.WaitedUs = map[string]uint64{"paths": 900_000} }, "paths, 69% of the last 1.3 s: 60 of 64 up"},
		{func(p *control.Peer) { p.Recent.WaitedUs = map[string]uint64{"outbox": 900_000} }, "acknowledgements, 69% of the last 1.3 s: too many messages wait"},
		{func(p *control.Peer) { p.Recent.WaitedUs = map[string]uint64{"data": 100_000} }, "this host's processor, 92% of the last 1.3 s"},
		{func(p *control.Peer) {
			p.Recent.WaitedUs = map[string]uint64{"data": 500_000, "pacing": 450_000, "window": 350_000}
		}, "pacing, 35% of the last 1.3 s to 1.25 Gbit/s"},
		{func(p *control.Peer) { p.SilentSinceUnixS = 1 }, "the peer: it does not answer"},
		{func(p *control.Peer) { p.Cipher, p.SilentSinceUnixS, p.LeftUnixS = "", 2, 1 }, "the peer: it left"},
		{func(p *control.Peer) { p.Cipher = "" }, "the session: a handshake has begun"},
		{func(p *control.Peer) { p.Cipher, p.Queue.Frames = "", 0 }, "nothing: there is no session, and nothing to send"},
		{func(p *control.Peer) { p.Recent.OverUs = 0 }, "not known yet"},
	} {
		p := &wide(64).Peers[0]
		tt.change(p)
		if got := LimitedBy(p); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// A path with a smaller MTU than the others makes the packets on all paths small, and the screen
// says so.
func TestNarrowPathIsNamed(t *testing.T) {
	st := wide(8)
	st.Peers[0].Paths[3].MTU, st.Peers[0].PacketBytes = 1280, 1252
	if s := printed(t, st, false); !strings.Contains(s, "  path mtu: 1280 from 192.0.2.2 to 198.51.100.10, so all packets are small\n") {
		t.Error(s)
	}
}

// If a peer has left, the screen says so, even if nothing was sent to it since.
func TestShowNamesAPeerThatLeft(t *testing.T) {
	st := wide(4)
	st.Peers[0].LeftUnixS, st.Peers[0].SilentSinceUnixS, st.Peers[0].Cipher = now.Unix()-3, now.Unix()-2, ""
	if s := printed(t, st, false); !strings.Contains(s, "  left: 3 seconds ago: the peer ended the session\n") || strings.Contains(s, "no answer since") {
		t.Error(s)
	}
}

// The reason for a missing session names a peer that left, and no remedy that cannot work.
func TestNoSession(t *testing.T) {
	for want, change := range map[string]func(*control.Peer){
		", so nothing is known; persistent_keepalive keeps a session": func(*control.Peer) {},
		": no peer has endpoints, so this host waits for their calls": func(p *control.Peer) { p.Endpoints = nil },
		"; a peer closed it 8 seconds ago":                            func(p *control.Peer) { p.Endpoints, p.LeftUnixS = nil, now.Unix()-8 },
	} {
		st := wide(4)
		change(&st.Peers[0])
		if got := NoSession(st, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTroubles(t *testing.T) {
	for _, tt := range []struct {
		change func(*control.Status)
		want   string
	}{
		{func(st *control.Status) {}, "peer hub: 2 of 4 paths from 192.0.2.1 to 198.51.100.10 down"},
		{func(st *control.Status) { st.Peers[0].Paths = st.Peers[0].Paths[:4] }, ""},
		{func(st *control.Status) { st.Peers[0].SilentSinceUnixS = now.Unix() - 9 }, "peer hub: no answer for 9 seconds"},
		{func(st *control.Status) {
			st.Peers[0].Cipher, st.Peers[0].SilentSinceUnixS, st.Peers[0].LeftUnixS = "", now.Unix()-9, now.Unix()-12
		}, "peer hub: left 12 seconds ago"},
		{func(st *control.Status) {
			st.Peers[0].Cipher, st.Peers[0].LeftUnixS, st.Peers[0].Endpoints = "", now.Unix()-12, nil
		}, ""},
		{func(st *control.Status) {
			st.Peers[0].Cipher, st.Peers[0].SilentSinceUnixS, st.Peers[0].Endpoints = "", now.Unix()-156, nil
		}, ""},
		{func(st *control.Status) { st.Peers[0].SilentSinceUnixS, st.Peers[0].Endpoints = now.Unix()-9, nil }, "peer hub: no answer for 9 seconds"},
		{func(st *control.Status) {
			st.Peers[0].NoWay, st.Peers[0].SilentSinceUnixS = "no way to 192.0.2.9:51820: eth0 has no carrier", now.Unix()-9
		}, "peer hub: no way to 192.0.2.9:51820: eth0 has no carrier"},
		{func(st *control.Status) {
			st.Peers[0].NoWay, st.Peers[0].Cipher, st.Peers[0].Endpoints = "no way to 192.0.2.9:51820: eth0 has no carrier", "", nil
		}, ""},
		{func(st *control.Status) { st.Peers[0].Cipher = "" }, "peer hub: no session, although it has a keepalive"},
		{func(st *control.Status) {
			st.Peers[0].Cipher, st.Peers[0].PersistentKeepaliveS, st.Peers[0].Paths = "", 0, nil
		}, ""},
		{func(st *control.Status) { st.Peers = nil }, ""},
		{func(st *control.Status) { st.Peers, st.Missing = nil, []string{"wwan0"} }, "paths.local: wwan0 has no address here"},
	} {
		st := wide(16) // the sixth path is down
		st.Peers[0].Paths[9].State = control.PathDown
		tt.change(st)
		if got := strings.Join(Troubles(st, now), "; "); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// The test draws the live screen, first with pairs of addresses, then with single paths. Two of the
// paths fail in between.
func TestTop(t *testing.T) {
	st := wide(64)
	screen := Top{}
	feed := func(from, to int, dead func(*control.Path) bool) {
		for i := from; i < to; i++ {
			d := time.Duration(i) * 250 * time.Millisecond
			screen.Feed(now.Add(d), later(st, d, dead))
		}
	}
	feed(0, 60, func(*control.Path) bool { return false })
	feed(60, 90, func(p *control.Path) bool { return p.Slot%16 == 5 || p.Slot%2 == 1 && p.Slot%4 == 3 })
	s := screen.Frame(80, 24)
	wantFits(t, s, 80, 24)
	wantScreen(t, "top", s)
	screen.Toggle()
	s = screen.Frame(80, 24)
	wantFits(t, s, 80, 24)
	wantScreen(t, "top-paths", s)
	screen.Scroll(1000)
	if s = screen.Frame(80, 24); !strings.HasSuffix(s, "scroll") || !strings.Contains(s, "#    62  192.0.2.2:40015") {
		t.Errorf("the end of the list:\n%s", s)
	}
	screen.Toggle()
	screen.ASCII = true
	screen.Fail("lab is not running")
	s = screen.Frame(80, 24)
	wantScreen(t, "top-ascii", s)
	for _, r := range s {
		if r > 0x7e {
			t.Errorf("%q is no ASCII", r)
		}
	}
}

// long returns the status of an interface with the given number of peers. Their names and IPv6
// addresses have all lengths.
func long(peers int) *control.Status {
	st := wide(16)
	ends := strings.NewReplacer("192.0.2.1:", "[2001:db8:1234:5678:9abc:def0:1234:5678]:", "192.0.2.2:", "[fd00::2]:",
		"198.51.100.9:", "[2001:db8:8765:4321:cba9:fed0:8765:4321]:", "198.51.100.10:", "203.0.113.200:")
	hub := &st.Peers[0]
	for i := range hub.Paths {
		hub.Paths[i].Local, hub.Paths[i].Remote = ends.Replace(hub.Paths[i].Local), ends.Replace(hub.Paths[i].Remote)
	}
	hub.Name = "gateway-of-the-office-in-frankfurt"
	for i := 1; i < peers; i++ {
		p := *hub
		p.Name, p.PublicKey = fmt.Sprintf("laptop-%d", i), fmt.Sprint(i)
		st.Peers = append(st.Peers, p)
	}
	return st
}

// Whatever the size of the terminal and the number of paths, the output fits on the screen.
func TestTopFitsAnyTerminal(t *testing.T) {
	states := []*control.Status{wide(0), wide(1), wide(64), wide(256), long(1), long(40), {Interface: "lab", UptimeS: 3723}}
	for i, st := range states {
		for _, size := range [][2]int{{200, 60}, {120, 40}, {80, 24}, {50, 20}, {40, 10}, {20, 5}, {1, 1}} {
			screen := Top{}
			screen.Feed(now, st)
			for range 2 {
				s := screen.Frame(size[0], size[1])
				if n := strings.Count(s, "\n") + 1; n > size[1] {
					t.Errorf("state %d, %v: %d lines", i, size, n)
				}
				wantFits(t, s, size[0], size[1])
				screen.Toggle()
			}
		}
	}
}

// An address that lacks a part reads as another address. So on a narrow terminal, other columns are
// dropped first, and then addresses get lines of their own.
func TestAddressesAreShownWhole(t *testing.T) {
	whole := []string{"2001:db8:1234:5678:9abc:def0:1234:5678", "fd00::2", "2001:db8:8765:4321:cba9:fed0:8765:4321", "203.0.113.200"}
	for _, st := range []*control.Status{long(1), long(40)} {
		for _, width := range []int{200, 120, 80, 50, 41} {
			screen := Top{}
			screen.Feed(now, st)
			for _, ends := range []struct{ before, after string }{{"", ""}, {"[", "]:"}} { // pairs of addresses, then paths
				s := screen.Frame(width, 200)
				for _, a := range whole {
					if ends.before == "[" && !strings.Contains(a, ":") {
						continue
					}
					if !strings.Contains(strings.ReplaceAll(s, "\n", ""), ends.before+a+ends.after) {
						t.Errorf("%d columns: %s is not whole:\n%s", width, a, s)
					}
				}
				if body := s[strings.Index(s, "from"):]; strings.Contains(body, "..") {
					t.Errorf("%d columns: something is cut:\n%s", width, body)
				}
				screen.Toggle()
			}
		}
		for _, width := range []int{80, 50, 41} {
			var b bytes.Buffer
			v := &control.Flows{OverUs: 1e6, Flows: []control.Flow{{Protocol: "tcp", Local: "[" + whole[0] + "]:50112", Remote: "[" + whole[2] + "]:443", TxBytes: 1e9}}}
			if err := Flows(&b, v, 1, width); err != nil {
				t.Fatal(err)
			}
			if s := strings.ReplaceAll(b.String(), "\n", ""); !strings.Contains(s, v.Flows[0].Local) || !strings.Contains(s, v.Flows[0].Remote) || !strings.Contains(s, "8G") {
				t.Errorf("%d columns:\n%s", width, b.String())
			}
		}
	}
	screen := Top{}
	screen.Feed(now, long(40))
	wantScreen(t, "top-narrow", screen.Frame(50, 24))
	if s := printed(t, long(1), false); strings.Contains(s, "..") {
		t.Errorf("show cuts an address:\n%s", s)
	}
}

// The narrowest screens still show the most important figures.
func TestFiguresGoByImportance(t *testing.T) {
	screen := Top{}
	screen.Feed(now, wide(64))
	for width, want := range map[int][]string{
		80: {"up", "rtt", "last 20 s", "share", "lost"},
		58: {"up", "rtt", "share", "lost"},
		47: {"up", "rtt", "lost"},
		40: {"up", "rtt"},
	} {
		s := screen.Frame(width, 24)
		title := s[strings.Index(s, "from  "):]
		title, _, _ = strings.Cut(title, "\n")
		if got := strings.Join(strings.Fields(title), " "); got != "from to "+strings.Join(want, " ") {
			t.Errorf("%d columns: %s", width, got)
		}
	}
}

// Next switches through all peers, and from the last peer to the first.
func TestTopShowsEveryPeer(t *testing.T) {
	st := wide(4)
	second := st.Peers[0]
	second.Name, second.PublicKey = "spoke", "other"
	st.Peers = append(st.Peers, second)
	screen := Top{}
	screen.Feed(now, st)
	for _, want := range []string{"peer hub (1 of 2)", "peer spoke (2 of 2)", "peer hub (1 of 2)"} {
		if s := screen.Frame(80, 24); !strings.Contains(s, want) {
			t.Errorf("not %s:\n%s", want, s)
		}
		screen.Next(1)
	}
	// A removed peer is no longer shown.
	screen.Feed(now, wide(4))
	if s := screen.Frame(80, 24); !strings.Contains(s, "peer hub (1 of 1)") {
		t.Error(s)
	}
}

func TestSpark(t *testing.T) {
	for _, tt := range []struct {
		v    []int64
		want string
	}{
		{nil, ""}, {[]int64{5}, "▁"}, {[]int64{100, 101, 100}, "▁▁▁"}, {[]int64{0, 50, 100, -1, 100}, "▁▅█×█"},
		{[]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, "▁▂▃▄▅▆▇█"}, {[]int64{-1, -1}, "××"},
	} {
		if got := blocks.spark(tt.v, 8); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.v, got, tt.want)
		}
	}
}

func TestFlows(t *testing.T) {
	f := &control.Flows{
		Interface: "lab", OverUs: 1_000_000, OtherTxBytes: 12_000, ReplacedFlows: 3, Flows: []control.Flow{
			{Peer: "hub", Protocol: "tcp", Local: "10.9.0.2:41234", Remote: "10.9.0.1:5201", TxBytes: 117_000_000, TxPackets: 80_000,
				RxBytes: 1_100_000, RxPackets: 16_000, QueuedBytes: 1 << 19, HeldFrames: 2, ReorderedFrames: 120, LongestHoldUs: 1800},
			{Peer: "hub", Protocol: "tcp", Local: "10.9.0.2:22", Remote: "10.9.0.77:50112", TxBytes: 4000, RxBytes: 2600},
			{Peer: "hub", Protocol: "udp", Local: "[fd00:9::2]:40001", Remote: "[fd00:9::77]:443", RxBytes: 640_000, ReorderedFrames: 9, LongestHoldUs: 310},
			{Peer: "hub", Protocol: "icmp", Local: "10.9.0.2:77", Remote: "10.9.0.1:0", TxBytes: 84, RxBytes: 84},
		},
	}
	var b bytes.Buffer
	if err := Flows(&b, f, 3, 80); err != nil {
		t.Fatal(err)
	}
	wantFits(t, b.String(), 80, 24)
	wantScreen(t, "flows", b.String())
}

func TestPing(t *testing.T) {
	var b bytes.Buffer
	var sum Pinged
	for i := range 3 {
		v := &control.Pings{Peer: "hub"}
		for k := range 4 {
			one := control.Ping{Slot: uint16(k), Local: fmt.Sprintf("192.0.2.%d:40000", k/2+1), Remote: fmt.Sprintf("198.51.100.%d:51820", k%2+9), RTTUs: int64(400 + 100*i + 9000*(k%2))}
			if k == 3 && i > 0 {
				one.RTTUs = 0
			}
			v.Paths = append(v.Paths, one)
		}
		sum.Add(v)
		if err := Round(&b, i+1, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := sum.Summary(&b, 80); err != nil {
		t.Fatal(err)
	}
	wantScreen(t, "ping", b.String())
	if !sum.Answered() || new(Pinged).Answered() {
		t.Error("answered or not")
	}
	b.Reset()
	many := &control.Pings{Peer: "hub"}
	for k := range 64 {
		many.Paths = append(many.Paths, control.Ping{Slot: uint16(k), RTTUs: int64(k) * 10})
	}
	if err := Round(&b, 7, many); err != nil || b.String() != "hub: seq=7 63 of 64 paths answer, min/avg/max 10us/320us/630us\n" {
		t.Error(b.String(), err)
	}
}
