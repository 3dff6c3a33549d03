package fabric

import (
	"fmt"
	"net/netip"
)

// The constants bound the values of a Spec. The address plan has one octet for a host, one for an
// address of a host, and one for a spine. Test networks are far smaller than the bounds of a
// Spec.
const (
	maxHosts  = 128
	maxSpines = 64
	maxAddrs  = 16
)

// Spec describes a fabric. A zero field of a Spec means the default.
type Spec struct {
	HostsA, HostsB int // hosts on leaf lA and on leaf lB; 1 each
	Spines         int // 4
	Addrs          int // addresses per host and family; 1

	RateMbit   int // rate of each leaf-spine link, each way; 100; negative: no limit
	BurstBytes int // token bucket depth; 16 KiB
	LimitBytes int // drop-tail queue in front of the bucket; 256 KiB (20 ms at 100 Mbit/s)
	// SlowMbit sets different link rates for single spines, counted from 1.
	SlowMbit map[int]int

	// HashSeed fixes the ECMP hash of the leaves, so that a run can be repeated. If HashSeed is
	// 0, the kernel chooses a random hash.
	HashSeed uint32

	// Lines puts a namespace into each cable between leaf lA and a spine. The namespace cuts the
	// cable, and has two ports "left" and "right" for an emulator. No packet reaches a spine
	// before an emulator joins the ports.
	Lines bool
}

// withDefaults returns s with defaults in its zero fields. The error names a field that is out of
// bounds.
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

// rateMbit returns the link rate of spine n, counted from 1, or a negative number for no limit.
func (s Spec) rateMbit(n int) int {
	if r, ok := s.SlowMbit[n]; ok {
		return r
	}
	return s.RateMbit
}

// The functions below are the address plan. A side is 1 (leaf lA) or 2 (leaf lB); hosts and
// spines count from 1, and the addresses of a host from 0.
//
//	host      10.<side>.<host>.2+k/24     fd00:<side>:<host>::2+k/64
//	its leaf  10.<side>.<host>.1          fd00:<side>:<host>::1
//	spine     10.10<side>.<spine>.2/30    fd00:10<side>:<spine>::2/64
//	its leaf  10.10<side>.<spine>.1       fd00:10<side>:<spine>::1
func addr4(net, box, last int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(net), byte(box), byte(last)})
}

// addr6 writes numbers in decimal digits, although groups are hexadecimal: number 10 has
// fd00:1:10::.
func addr6(net, box, last int) netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("fd00:%d:%d::%d", net, box, last))
}

// uplinkNet returns the second octet of the addresses between a leaf and its spines.
func uplinkNet(side int) int { return 100 + side }
