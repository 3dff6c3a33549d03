package fabric

import (
	"fmt"
	"net/netip"
)

// These are the bounds of a Spec. The address plan has one octet each for a host, an address of
// a host, and a spine. A test network needs no more.
const (
	maxHosts  = 128
	maxSpines = 64
	maxAddrs  = 16
)

// Spec describes the network to build. The zero value of a field stands for its default.
type Spec struct {
	HostsA, HostsB int // hosts on leaf lA and on leaf lB; 1 each
	Spines         int // 4
	Addrs          int // addresses per host and family; 1

	RateMbit   int // rate of each leaf-spine link, each way; 100; negative: no limit
	BurstBytes int // token bucket depth; 16 KiB
	LimitBytes int // drop-tail queue in front of the bucket; 256 KiB (20 ms at 100 Mbit/s)
	// SlowMbit gives single spines (numbered from 1) another rate.
	SlowMbit map[int]int

	// HashSeed fixes the leaves' ECMP hash, so a run can be repeated. With 0 the kernel draws a
	// random hash.
	HashSeed uint32

	// Lines puts a namespace between leaf lA and every spine. The namespace is a cut in the
	// cable, with two ports "left" and "right" that an emulator can connect. No packet passes a
	// spine before an emulator joins them.
	Lines bool
}

// withDefaults returns s with its zero fields filled in. An error names the field that is out
// of bounds.
func (s Spec) withDefaults() (Spec, error) {
	fill := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	fill(&s.HostsA, 1)
	fill(&s.HostsB, 1)
	fill(&s.Spines, 4)
	fill(&s.Addrs, 1)
	fill(&s.RateMbit, 100)
	fill(&s.BurstBytes, 16<<10)
	fill(&s.LimitBytes, 256<<10)
	for _, b := range []struct {
		name   string
		v, max int
	}{{"HostsA", s.HostsA, maxHosts}, {"HostsB", s.HostsB, maxHosts}, {"Spines", s.Spines, maxSpines}, {"Addrs", s.Addrs, maxAddrs}} {
		if b.v < 1 || b.v > b.max {
			return s, fmt.Errorf("fabric: %s = %d, want 1..%d", b.name, b.v, b.max)
		}
	}
	return s, nil
}

// rateMbit returns the rate of spine n's links (n from 1), or a negative number if there is no
// limit.
func (s Spec) rateMbit(n int) int {
	if r, ok := s.SlowMbit[n]; ok {
		return r
	}
	return s.RateMbit
}

// This is the address plan. A side is 1 (leaf lA) or 2 (leaf lB); hosts and spines are numbered
// from 1, the addresses of a host from 0.
//
//	host      10.<side>.<host>.2+k/24     fd00:<side>:<host>::2+k/64
//	its leaf  10.<side>.<host>.1          fd00:<side>:<host>::1
//	spine     10.10<side>.<spine>.2/30    fd00:10<side>:<spine>::2/64
//	its leaf  10.10<side>.<spine>.1       fd00:10<side>:<spine>::1
func addr4(net, box, last int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(net), byte(box), byte(last)})
}

// addr6 writes the numbers in decimal digits: box 10 has fd00:1:10::, although the group is
// hexadecimal.
func addr6(net, box, last int) netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("fd00:%d:%d::%d", net, box, last))
}

// uplinkNet is the second number of the addresses between a leaf and its spines.
func uplinkNet(side int) int { return 100 + side }
