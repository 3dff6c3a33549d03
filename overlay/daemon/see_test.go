package daemon

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/flows"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd"
)

// other returns the configuration of a second daemon on the same host, which is the peer "near" of
// the constant text.
func other(t *testing.T) *config.Config {
	t.Helper()
	ours, theirs := make([]byte, 32), make([]byte, 32)
	ours[0], ours[31], theirs[0], theirs[31] = 8, 64, 16, 64
	return parse(t, `"srdd0"`, `"srdd1"`,
		base64.StdEncoding.EncodeToString(ours), base64.StdEncoding.EncodeToString(theirs),
		"10.80.0.1/24", "10.90.0.1/24", "fd80::1/64", "fd90::1/64", "5555", "5999", "6000-6010", "7000-7010",
		key(t, 2), key(t, 1), "127.0.0.1:5999", "127.0.0.1:5555",
		"10.80.0.2/32", "10.80.0.1/32", "10.81.0.0/16", "10.91.0.0/16", "fd81::/64", "fd91::/64", "10.80.0.3/32", "10.90.0.3/32")
}

// dial returns a connection to the daemon.
func dial(t *testing.T, name string) *control.Client {
	t.Helper()
	c, err := control.Dial(rundir.Place{Device: name})
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// If there is no session with the peer, a ping begins a handshake. It measures every path, or one
// path for each pair of addresses. Flows are counted on request.
func TestPingAndFlowsBetweenDaemons(t *testing.T) {
	runDir(t)
	a, b := up(t, parse(t)), up(t, other(t))
	defer func() { a.cancel(); a.wait(); b.cancel(); b.wait() }()
	// A path has a second for its reply. A busy machine may delay the reply beyond that, so the
	// test then repeats the request.
	answered := func(target string, all bool, least int) *control.Pings {
		t.Helper()
		var v *control.Pings
		until(t, "an answer on each path to "+target, func() bool {
			var err error
			if v, err = dial(t, "srdd0").Ping(target, all); err != nil || len(v.Paths) < least {
				t.Fatalf("paths to %s: %+v, %v", target, v, err)
			}
			return !slices.ContainsFunc(v.Paths, func(p control.Ping) bool { return p.RTTUs <= 0 })
		})
		return v
	}
	if one := answered("near", false, 1); len(one.Paths) != 1 || !strings.HasPrefix(one.Paths[0].Remote, "127.0.0.1:") {
		t.Fatalf("one path: %+v", one)
	}
	if every := answered(key(t, 2), true, 4); every.Peer != "near" {
		t.Fatalf("every path: %+v", every)
	}
	for _, name := range []string{"", "far"} {
		if _, err := dial(t, "srdd0").Ping(name, false); err == nil || !strings.Contains(err.Error(), "no peer is named") {
			t.Errorf("peer %q: %v", name, err)
		}
	}
	counted(t)
	st, err := dial(t, "srdd0").Show()
	if err != nil || st.Peers[0].Endpoint != "127.0.0.1:5999" || st.Peers[0].HeardFrom == "" || st.Peers[0].PacketBytes < srd.BasePacket {
		t.Errorf("%+v, %v", st.Peers[0], err)
	}
	if r := st.Peers[0].Recent; r.OverUs <= 0 || r.WaitedUs["data"] == 0 {
		t.Errorf("recent: %+v", r)
	}
}

// counted sends a flow into srdd0, and fails the test unless the flow is counted.
func counted(t *testing.T) {
	t.Helper()
	found := make(chan *control.Flows, 1)
	go func() {
		v, err := dial(t, "srdd0").Flows(300 * time.Millisecond)
		if err != nil {
			t.Error(err)
		}
		found <- v
	}()
	c, err := net.Dial("udp", "10.80.0.2:9")
	must(t, err)
	defer c.Close()
	for {
		c.Write(make([]byte, 1000)) // the count begins before the last of these is sent
		select {
		case v := <-found:
			if v == nil || len(v.Flows) == 0 {
				t.Fatalf("no flow was counted: %+v", v)
			}
			f := v.Flows[0]
			if f.Peer != "near" || f.Protocol != "udp" || f.Remote != "10.80.0.2:9" || f.Local != c.LocalAddr().String() || f.TxBytes < 1028 {
				t.Errorf("%+v", f)
			}
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// Two concurrent callers take turns. A caller that waits longer than flowsWait gets an error.
func TestFlowCounterIsForOne(t *testing.T) {
	var f flowCounter
	ctx, cancel := context.WithCancel(context.Background())
	if !f.take(ctx) {
		t.Fatal("nobody else asks")
	}
	if f.take(ctx) {
		t.Error("two at once")
	}
	cancel()
	if f.take(ctx) {
		t.Error("after the end")
	}
}

// Without a request no flow is counted, and no memory is used for it.
func TestNothingIsCountedUnasked(t *testing.T) {
	var f flowCounter
	p := &peer{}
	frames := []*frame.Frame{frame.New([]byte{0x45}, nil)}
	if n := testing.AllocsPerRun(100, func() { f.sent(p, frames); f.received(p, frames) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Protocols have their common names.
func TestDescribeFlow(t *testing.T) {
	f := flows.Flow{Key: flows.Key{Peer: "hub", Proto: 6, Local: netip.MustParseAddrPort("10.0.0.1:1"), Remote: netip.MustParseAddrPort("[fd00::1]:2")}}
	if v := describeFlow(&f); v.Peer != "hub" || v.Protocol != "tcp" || v.Local != "10.0.0.1:1" || v.Remote != "[fd00::1]:2" {
		t.Errorf("%+v", v)
	}
	for proto, want := range map[uint8]string{1: "icmp", 17: "udp", 58: "icmp6", 132: "132"} {
		if got := protocolName(proto); got != want {
			t.Errorf("protocol %d is %s", proto, got)
		}
	}
}

// Of the paths between two addresses, an active one is measured.
func TestOnePerPair(t *testing.T) {
	var paths []srd.PathInfo
	for i, state := range []srd.PathState{srd.PathDown, srd.PathActive, srd.PathActive, srd.PathDown, srd.PathDown} {
		remote := make([]byte, 4)
		binary.BigEndian.PutUint32(remote, 0x0a000001+uint32(i/3))
		a, _ := netip.AddrFromSlice(remote)
		paths = append(paths, srd.PathInfo{
			Slot: uint16(i), State: state, Tuple: srd.Tuple{Local: srd.UplinkOf(netip.MustParseAddr("10.0.0.9"), 0), Remote: netip.AddrPortFrom(a, uint16(i))},
		})
	}
	if v := onePerPair(paths); len(v) != 2 || !v[1] || !v[3] {
		t.Errorf("slots %v", v)
	}
}

// Of several endpoints, nearest returns the validated one, or else the first.
func TestNearestEndpoint(t *testing.T) {
	of := []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:1"), netip.MustParseAddrPort("10.0.0.2:2"), netip.MustParseAddrPort("10.0.0.3:3")}
	for at, want := range map[string]int{"10.0.0.2": 1, "10.0.0.9": 0} {
		if got := nearest(of, []netip.Addr{netip.MustParseAddr("10.0.0.8"), netip.MustParseAddr(at)}); got != of[want] {
			t.Errorf("at %s: %v", at, got)
		}
	}
	if got := nearest(of, nil); got != of[0] {
		t.Errorf("nowhere: %v", got)
	}
}

// A peer without a configured endpoint may begin handshakes from many source ports. Its reported
// endpoint is its listening port.
func TestPeerWithoutEndpointIsCallable(t *testing.T) {
	runDir(t)
	spoke := parse(t, "5555", "51820")
	hub := other(t)
	for i := range hub.Peers {
		hub.Peers[i].Endpoints = nil
	}
	b, a := up(t, hub), up(t, spoke)
	defer func() { a.cancel(); a.wait(); b.cancel(); b.wait() }()
	if _, err := dial(t, "srdd0").Ping("near", true); err != nil {
		t.Fatal(err)
	}
	if _, err := dial(t, "srdd1").Ping("near", true); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		st, err := dial(t, "srdd1").Show()
		must(t, err)
		if st.Peers[0].Endpoint == "127.0.0.1:51820" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("endpoint %q, heard from %q", st.Peers[0].Endpoint, st.Peers[0].HeardFrom)
		}
	}
}

// Even if several callers ping a peer, only one round of probes is in progress at a time.
func TestPingsDoNotAddUp(t *testing.T) {
	hub := &peer{}
	hub.conf.Store(&config.Peer{Name: "hub"})
	s := newServer(&config.Config{}, newEventLog(false))
	s.running.Store(&snapshot{peers: []*peer{hub}})
	hub.pings.mu.Lock()
	if _, err := s.Ping(context.Background(), "hub", true); err == nil || !strings.Contains(err.Error(), "is being pinged already") {
		t.Errorf("a second at once: %v", err)
	}
	hub.pings.mu.Unlock()
	hub.pings.last = time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Ping(ctx, "hub", true); !errors.Is(err, context.Canceled) {
		t.Errorf("a second at once, and the daemon ends: %v", err)
	}
}

// A command for one interface requests only a part of the other interfaces' states. A hub with a
// thousand peers then does not describe all of them.
func TestShowDescribesOnlyThePeersAskedFor(t *testing.T) {
	runDir(t)
	r := up(t, parse(t))
	c := dial(t, "srdd0")
	whole, err := c.Show()
	must(t, err)
	for part, want := range map[control.Part][]string{
		{}:                           {"near", "named"},
		{Brief: true}:                nil,
		{Reached: true}:              nil, // no peer has a path yet
		{Peer: "near"}:               {"near"},
		{Peer: key(t, 2)}:            {"near"},
		{Peer: "10.80.0.2"}:          {"near"},
		{Peer: "nobody"}:             nil,
		{Peer: "near, named"}:        nil,
		{Brief: true, Peer: "named"}: nil,
	} {
		st, err := c.ShowPart(part)
		if err != nil || !slices.Equal(names(st), want) || st.File != whole.File || st.Interface != "srdd0" {
			t.Errorf("%+v: %v of %s, %v; want %v", part, names(st), st.File, err, want)
		}
	}
	r.cancel()
	r.wait()
}
