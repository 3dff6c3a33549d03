package daemon

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/handover"
	"github.com/srdtun/srdtun/srd"
)

func atPorts(ports ...uint16) (v []netip.AddrPort) {
	for _, p := range ports {
		v = append(v, netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), p))
	}
	return v
}

func pathsTo(state srd.PathState, to []netip.AddrPort) (v []srd.PathInfo) {
	for _, a := range to {
		v = append(v, srd.PathInfo{State: state, Tuple: srd.Tuple{Remote: a}})
	}
	return v
}

// A peer's addresses are saved again when most of the saved ones no longer work. A packet from a
// new port is not a reason.
func TestLastKnownChangesWithTheAddress(t *testing.T) {
	v := lastKnown{known: map[string][]netip.AddrPort{}}
	note := func(endpoints, proven []netip.AddrPort, paths []srd.PathInfo) bool {
		v.changed = false
		v.note("k", endpoints, proven, paths)
		return v.changed
	}
	many := atPorts(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	active := pathsTo(srd.PathActive, many)
	if !note(nil, many, active) || len(v.known["k"]) != lastKnownMost {
		t.Errorf("first: %v", v.known)
	}
	slices.Reverse(many)
	if note(nil, many, active) {
		t.Error("another order is no news")
	}
	if note(nil, many, pathsTo(srd.PathDown, many)) || len(v.known["k"]) != lastKnownMost {
		t.Error("where a silent peer was is forgotten")
	}
	moved := atPorts(21, 22)
	if !note(nil, append(slices.Clone(moved), many...), append(pathsTo(srd.PathDown, many), pathsTo(srd.PathActive, moved)...)) ||
		!slices.Equal(v.known["k"], moved) {
		t.Errorf("moved: %v", v.known)
	}
	v.known = map[string][]netip.AddrPort{}
	if note(atPorts(99), many, active) {
		t.Error("it is called at its endpoint, and on other ports there as well")
	}
}

// If there is no descriptor store, the next process sends handshakes to the last address of a peer
// without an endpoint. If the previous process was stopped for good, the address was removed.
func TestPeersAreFoundAgainAfterACrash(t *testing.T) {
	run := runDir(t)
	c := parse(t, `endpoints = ["127.0.0.1:5999"]`, "", `endpoints = ["localhost:5998"]`, "")
	before := state(t, run)
	there, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	must(t, err)
	defer there.Close()
	left := []handover.Peer{{Key: key(t, 2), Addresses: []netip.AddrPort{there.LocalAddr().(*net.UDPAddr).AddrPort()}}}
	must(t, handover.WritePeers("srdd0", left))
	for range 2 { // the file remains if a signal ends the process
		stop := serve(t, Options{Config: c})
		there.SetReadDeadline(time.Now().Add(patience))
		if _, _, err := there.ReadFromUDPAddrPort(make([]byte, 2048)); err != nil {
			t.Errorf("not called: %v", err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
	r := up(t, c)
	ctl, err := control.Dial(rundir.Place{Device: "srdd0"})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, _ = ctl.Down(ctx) // the daemon may end before it replies
	ctl.Close()
	r.wait()
	if got, err := handover.ReadPeers("srdd0"); len(got) > 0 || err != nil {
		t.Errorf("after down: %v, %v", got, err)
	}
	there.Close()
	sameState(t, run, before)
}

// The next process takes at most lastKnownMost addresses of a peer from the file, and rewrites the
// file with new addresses.
func TestLastKnownIsTakenOver(t *testing.T) {
	s := opened(t)
	must(t, handover.WritePeers("srdd0", []handover.Peer{{Key: key(t, 2), Addresses: atPorts(1, 2, 3, 4, 5, 6, 7, 8, 9)}}))
	s.restart.loadLastKnown()
	if n := len(s.restart.lastAddresses(key(t, 2))); n != lastKnownMost {
		t.Errorf("%d addresses are taken", n)
	}
	s.restart.lastKnown.note(key(t, 3), nil, atPorts(7), pathsTo(srd.PathActive, atPorts(7)))
	s.restart.saveLastKnown()
	got, err := handover.ReadPeers("srdd0")
	if err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
}
