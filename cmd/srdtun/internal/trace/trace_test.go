package trace

import (
	"context"
	"encoding/binary"
	"net/netip"
	"testing"
)

func TestOffender(t *testing.T) {
	four := make([]byte, extendedError+16)
	four[4] = originICMP
	binary.NativeEndian.PutUint16(four[extendedError:], 2)
	copy(four[extendedError+4:], []byte{192, 0, 2, 7})
	if a, ok := offender(four); !ok || a != netip.MustParseAddr("192.0.2.7") {
		t.Errorf("%v %v", a, ok)
	}
	own := append([]byte(nil), four...)
	own[4] = 1 // an address of this host
	if _, ok := offender(own); ok {
		t.Error("an error of this host is no router's")
	}
	for n := range len(four) {
		offender(four[:n])
	}
	six := make([]byte, extendedError+28)
	six[4] = originICMP6
	binary.NativeEndian.PutUint16(six[extendedError:], 10)
	six[extendedError+8], six[extendedError+23] = 0xfd, 9
	if a, ok := offender(six); !ok || a != netip.MustParseAddr("fd00::9") {
		t.Errorf("%v %v", a, ok)
	}
	if _, ok := offender(six[:extendedError+20]); ok {
		t.Error("half of an address was taken")
	}
}

func TestWays(t *testing.T) {
	a := netip.MustParseAddr
	hops := []Hop{{1, []netip.Addr{a("10.0.0.1")}}, {2, []netip.Addr{a("10.0.1.1"), a("10.0.2.1")}}, {3, []netip.Addr{a("10.0.3.1")}}}
	if n := Ways(hops); n != 2 {
		t.Errorf("%d ways", n)
	}
	if Ways(nil) != 0 {
		t.Error("ways that nobody saw")
	}
}

// This host answers immediately that the port is closed. The answer ends the trace, and does not
// count as a router.
func TestRunToThisHost(t *testing.T) {
	lo := netip.MustParseAddr("127.0.0.1")
	hops, err := Run(context.Background(), From{Addr: lo}, netip.AddrPortFrom(lo, 9), nil)
	if err != nil || len(hops) != 0 {
		t.Errorf("%v, %v", hops, err)
	}
	if _, err := Run(context.Background(), From{Addr: netip.MustParseAddr("192.0.2.1")}, netip.AddrPortFrom(lo, 9), nil); err == nil {
		t.Error("packets left from an address that is not this host's")
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if _, err := Run(ended, From{Addr: lo}, netip.AddrPortFrom(lo, 9), nil); err == nil {
		t.Error("it goes on after its context has ended")
	}
}
