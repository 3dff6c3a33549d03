package daemon

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/srd"
)

func listedOf(texts ...string) (v [][]srd.Uplink) {
	for i, text := range texts {
		v = append(v, []srd.Uplink{srd.UplinkOf(netip.MustParseAddr(text), uint32(i))})
	}
	return v
}

// If paths.local is empty, every address carries packets. Otherwise only the listed addresses do,
// and each other address is reported once until the list changes.
func TestOnlyListedAddressesCarry(t *testing.T) {
	var l listed
	at := func(text string, link uint32) srd.Uplink { return srd.UplinkOf(netip.MustParseAddr(text), link) }
	a, b := at("192.0.2.1", 0), at("192.0.2.2", 0)
	if l.bars(a) || l.set(nil) {
		t.Error("an empty list bars an address")
	}
	if !l.set(listedOf("192.0.2.1", "fe80::1")) || l.set(append(listedOf("192.0.2.1", "fe80::1"), listedOf("192.0.2.1")...)) {
		t.Error("a change is not seen, or is seen twice")
	}
	if l.bars(a) || l.bars(at("fe80::1", 7)) || !l.bars(b) || !l.bars(b) {
		t.Error("not the listed ones carry")
	}
	if v := l.news(); !slices.Equal(v, []netip.Addr{b.Addr()}) || len(l.news()) > 0 {
		t.Errorf("told: %v, want %v once", v, b.Addr())
	}
	// Of three interfaces with the same address, two are listed.
	l.set([][]srd.Uplink{{at("192.0.2.1", 4)}, {at("192.0.2.1", 5)}})
	if l.bars(at("192.0.2.1", 4)) || l.bars(at("192.0.2.1", 5)) || !l.bars(at("192.0.2.1", 0)) || !l.bars(at("192.0.2.1", 6)) || !l.names(a.Addr()) || l.names(b.Addr()) {
		t.Error("an address is listed at interfaces that no entry names")
	}
	if !l.set(make([][]srd.Uplink, 1)) || !l.bars(a) {
		t.Error("an interface without an address lets all carry")
	}
	if !l.set(nil) || l.bars(b) || len(l.news()) > 0 {
		t.Error("without a list an address is barred or told")
	}
}

// A host that sends to many unlisted addresses cannot fill the memory.
func TestCalledAddressesAreBounded(t *testing.T) {
	var l listed
	l.set(listedOf("192.0.2.1"))
	for i := range 4 * calledMost {
		l.bars(srd.UplinkOf(netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", i+1)), 0))
	}
	if n := len(l.news()); n != calledMost {
		t.Errorf("%d addresses, want %d", n, calledMost)
	}
	if n := testing.AllocsPerRun(100, func() {
		l.bars(srd.UplinkOf(netip.MustParseAddr("192.0.2.1"), 0))
		l.bars(srd.UplinkOf(netip.IPv6Unspecified(), 0))
	}); n > 0 {
		t.Errorf("%v allocations a packet", n)
	}
}

// Addresses of removed endpoints are withdrawn. Addresses that a name no longer has are not.
func TestRemovedEndpointsAreWithdrawn(t *testing.T) {
	var r remote
	r.found = map[config.Endpoint][]netip.AddrPort{}
	end := func(texts ...string) (v []config.Endpoint, at []netip.AddrPort) {
		for _, text := range texts {
			e := config.Endpoint{Host: text, Port: 7}
			v, at = append(v, e), append(at, r.addresses(e)...)
		}
		return v, at
	}
	name, _ := end("far.example")
	r.found[name[0]] = []netip.AddrPort{netip.MustParseAddrPort("192.0.2.5:7")}
	want := func(changed bool, texts []string, addrs ...string) {
		t.Helper()
		var w []netip.Addr
		for _, a := range addrs {
			w = append(w, netip.MustParseAddr(a))
		}
		if got := r.withdraw(end(texts...)); got != changed || !slices.Equal(r.withdrawn, w) {
			t.Errorf("%q: %v, %v", texts, got, r.withdrawn)
		}
	}
	want(false, []string{"192.0.2.1", "192.0.2.2", "far.example"})
	want(true, []string{"192.0.2.1", "far.example"}, "192.0.2.2")
	r.found[name[0]] = []netip.AddrPort{netip.MustParseAddrPort("192.0.2.6:7")}
	want(false, []string{"192.0.2.1", "far.example"}, "192.0.2.2")
	want(true, []string{"192.0.2.1"}, "192.0.2.2", "192.0.2.6")
	want(true, []string{"192.0.2.1", "192.0.2.2"}, "192.0.2.6")
	for i := range 3 * provenMost {
		r.withdraw(end(fmt.Sprintf("198.51.100.%d", i)))
	}
	if n := len(r.withdrawn); n != provenMost {
		t.Errorf("%d addresses are kept, want %d", n, provenMost)
	}
}
