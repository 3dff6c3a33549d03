package packet

import (
	"encoding/binary"
	"testing"
)

// The simulator must repeat a run with the same hashes. So the hashes of one packet of each IP
// version are constants in this test.
func TestFlowHashIsPinned(t *testing.T) {
	for _, c := range []struct {
		v6   bool
		key  FlowKey
		want uint32
	}{{false, FlowKey{}, 0x11f6a41}, {false, FlowKey{7, 8}, 0x7a4b7ebb}, {true, FlowKey{}, 0x6f971ebf}, {true, FlowKey{7, 8}, 0xe7b1d3e2}} {
		if got := hash(t, spec{v6: c.v6}.build(), c.key); got != c.want {
			t.Errorf("v6 %v key %v: %#x, want %#x", c.v6, c.key, got, c.want)
		}
	}
}

func TestFlowHashSpreads(t *testing.T) {
	const buckets, flows = 256, 256 * 64
	for _, v6 := range []bool{false, true} {
		var n [buckets]int
		b := spec{v6: v6}.build()
		l4 := len(b) - 20
		for i := range flows {
			binary.BigEndian.PutUint16(b[l4:], uint16(i))
			n[hash(t, b, FlowKey{42})%buckets]++
		}
		chi := 0.0
		for _, c := range n {
			d := float64(c - flows/buckets)
			chi += d * d / (flows / buckets)
		}
		// With 255 degrees of freedom, chi-squared has the mean 255 and the standard deviation 23.
		if chi > 255+6*23 {
			t.Errorf("v6 %v: chi square %.0f", v6, chi)
		}
	}
}

func TestFlowHashUsesEveryField(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		b := spec{v6: v6, udp: true}.build()
		base := hash(t, b, FlowKey{})
		addresses, l4 := 12, 20
		if v6 {
			addresses, l4 = 8, 40
		}
		for at := addresses; at < l4+4; at++ {
			b[at] ^= 0x10
			if hash(t, b, FlowKey{}) == base {
				t.Errorf("v6 %v: byte %d does not count", v6, at)
			}
			b[at] ^= 0x10
		}
		tcp := spec{v6: v6}.build()
		if hash(t, tcp, FlowKey{}) == base {
			t.Errorf("v6 %v: the protocol does not count", v6)
		}
	}
}

func hash(t testing.TB, b []byte, key FlowKey) uint32 {
	t.Helper()
	var in Info
	if r := Parse(b, &in); r != OK {
		t.Fatal(r)
	}
	return FlowHash(b, &in, key)
}

// The hash must not have a factor that an interface identifier can make zero. Otherwise addresses
// with that identifier would share one bucket for all prefixes.
func TestFlowsOfOneInterfaceIdentifierDiffer(t *testing.T) {
	for _, id := range []uint64{0x13198a2e03707345, 0x243f6a8885a308d3, 0xa4093822299f31d1, 0} {
		for key := range uint64(5) {
			b := spec{v6: true}.build()
			binary.BigEndian.PutUint64(b[16:], id)
			seen := map[uint32]bool{}
			const prefixes = 1000
			for i := range uint64(prefixes) {
				binary.BigEndian.PutUint64(b[8:], 0x2001_0db8_0000_0000|i)
				seen[hash(t, b, FlowKey{key})] = true
			}
			if len(seen) < prefixes-5 {
				t.Errorf("identifier %x, key %d: %d prefixes have %d hashes", id, key, prefixes, len(seen))
			}
		}
	}
}

// Flows that were chosen to share a bucket under one key are spread under another.
func TestFlowsChosenUnderAnotherKeyAreSpread(t *testing.T) {
	const buckets, flows = 256, 4096
	own, other := FlowKey{1, 2}, FlowKey{1, 3}
	for _, v6 := range []bool{false, true} {
		b := spec{v6: v6}.build()
		l4 := len(b) - 20
		var n [buckets]int
		for i, chosen := uint32(0), 0; chosen < flows; i++ {
			binary.BigEndian.PutUint32(b[l4:], i)
			if hash(t, b, other)%buckets == 0 {
				n[hash(t, b, own)%buckets]++
				chosen++
			}
		}
		for bucket, got := range n {
			if got > 3*flows/buckets { // the expected number is 16, with standard deviation 4
				t.Errorf("v6 %v: %d of %d flows in bucket %d", v6, got, flows, bucket)
			}
		}
	}
}

// slowSip computes SipHash-2-4 byte by byte, as the paper describes it.
func slowSip(key FlowKey, m []byte) uint64 {
	v := [4]uint64{
		key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
		key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573,
	}
	rotate := func(i int, by uint) { v[i] = v[i]<<by | v[i]>>(64-by) }
	rounds := func(n int) {
		for range n {
			v[0] += v[1]
			rotate(1, 13)
			v[1] ^= v[0]
			rotate(0, 32)
			v[2] += v[3]
			rotate(3, 16)
			v[3] ^= v[2]
			v[0] += v[3]
			rotate(3, 21)
			v[3] ^= v[0]
			v[2] += v[1]
			rotate(1, 17)
			v[1] ^= v[2]
			rotate(2, 32)
		}
	}
	padded := append([]byte{}, m...)
	for len(padded)%8 != 7 {
		padded = append(padded, 0)
	}
	for padded = append(padded, byte(len(m))); len(padded) > 0; padded = padded[8:] {
		w := binary.LittleEndian.Uint64(padded)
		v[3] ^= w
		rounds(2)
		v[0] ^= w
	}
	v[2] ^= 0xff
	rounds(4)
	return v[0] ^ v[1] ^ v[2] ^ v[3]
}

func TestFlowHashMatchesTwin(t *testing.T) {
	key := FlowKey{0x0706050403020100, 0x0f0e0d0c0b0a0908}
	var m [15]byte
	for i := range m {
		m[i] = byte(i)
	}
	// The test vector of the paper's appendix A.
	if got := slowSip(key, m[:]); got != 0xa129ca6149be45e5 {
		t.Fatalf("the twin is wrong: %#x", got)
	}
	for _, v6 := range []bool{false, true} {
		b := spec{v6: v6}.build()
		in := parse(t, b)
		m := append([]byte{}, b[12:20]...)
		if v6 {
			m = append([]byte{}, b[8:40]...)
		}
		m = binary.LittleEndian.AppendUint16(m, in.SrcPort)
		m = binary.LittleEndian.AppendUint16(m, in.DstPort)
		m = append(m, in.Proto, 0)
		want := slowSip(key, m)
		if got := FlowHash(b, &in, key); got != uint32(want^want>>32) {
			t.Errorf("v6 %v: %#x, want %#x", v6, got, uint32(want^want>>32))
		}
	}
}

func BenchmarkFlowHash(b *testing.B) {
	for _, v6 := range []bool{false, true} {
		p := spec{v6: v6}.build()
		in := parse(b, p)
		b.Run(map[bool]string{false: "v4", true: "v6"}[v6], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				FlowHash(p, &in, FlowKey{1, 2})
			}
		})
	}
}
