package packet

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/srdtun/srdtun/overlay/packet/packettest"
	"pgregory.net/rapid"
)

func TestSumMatchesTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "b")
		got, want := fold16(sum(b, 0)), packettest.Sum(b)
		// Zero has two representations in ones' complement.
		if got%0xffff != want%0xffff {
			t.Fatalf("%x: %#x, want %#x", b, got, want)
		}
	})
}

func TestSumCarries(t *testing.T) {
	b := bytes.Repeat([]byte{0xff}, 65535)
	if got := fold16(sum(b, 1<<64-1)); got%0xffff != packettest.Sum(b)%0xffff {
		t.Errorf("%#x", got)
	}
}

func TestUpdateChecksumMatchesTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 20, 20).Draw(t, "header")
		b[0] = 0x45
		writeHeaderChecksum(b, 20)
		at := rapid.SampledFrom([]int{0, 2, 4, 6, 8, 12, 18}).Draw(t, "word") &^ 1
		old := binary.BigEndian.Uint16(b[at:])
		changed := rapid.Uint16().Draw(t, "new")
		if at == 0 {
			changed = changed&0xff | 0x4500
		}
		binary.BigEndian.PutUint16(b[at:], changed)
		updateChecksum(b[10:], old, changed)
		if s := packettest.Sum(b); s != 0xffff {
			t.Fatalf("header sums to %#x after the update of word %d from %#x to %#x", s, at, old, changed)
		}
	})
}

func TestSetCE(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		for ecn := byte(0); ecn < 4; ecn++ {
			b := spec{v6: v6, ecn: ecn, payload: bytesUpTo(30)}.build()
			want := spec{v6: v6, ecn: 3, payload: bytesUpTo(30)}.build()
			if ecn == 0 {
				want = bytes.Clone(b)
			}
			if got := SetCE(b); got != (ecn != 0) {
				t.Errorf("v6 %v ecn %d: reported %v", v6, ecn, got)
			}
			if !bytes.Equal(b, want) {
				t.Errorf("v6 %v ecn %d:\ngot  %x\nwant %x", v6, ecn, b, want)
			}
		}
	}
}
