package linkemu

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// joined builds a fabric with one spine and no rate limit. The cable to the spine has the given
// impairment.
func joined(t testing.TB, im Impairment) (*fabric.Fabric, *Cable) {
	t.Helper()
	f, err := fabric.New(fabric.Spec{Spines: 1, RateMbit: -1, Lines: true})
	must(t, err)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	ab, err := NewLine(1, im)
	must(t, err)
	ba, _ := NewLine(2)
	var c *Cable
	must(t, f.Lines[0].Do(func() (err error) { c, err = Join("left", "right", ab, ba); return err }))
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	must(t, f.Warm())
	return f, c
}

// exchange sends n datagrams of 64 equal bytes, and returns the numbers of datagrams that arrived
// unchanged and changed.
func exchange(t *testing.T, f *fabric.Fabric, from, to netip.Addr, n int) (whole, changed int) {
	t.Helper()
	in, err := f.B(1).ListenPacket("udp", netip.AddrPortFrom(to, 9000).String())
	must(t, err)
	defer in.Close()
	out, err := f.A(1).ListenPacket("udp", netip.AddrPortFrom(from, 0).String())
	must(t, err)
	defer out.Close()
	for range n {
		if _, err := out.WriteTo(make([]byte, 64), net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, 9000))); err != nil {
			t.Fatal(err)
		}
	}
	buf := make([]byte, 100)
	for {
		_ = in.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
		k, _, err := in.ReadFrom(buf)
		if err != nil {
			return whole, changed
		}
		if [64]byte(buf[:k]) == [64]byte{} {
			whole++
		} else {
			changed++
		}
	}
}

func TestCableCarriesFrames(t *testing.T) {
	f, c := joined(t, Impairment{})
	for _, a := range [][2]netip.Addr{{f.A(1).Addr4(), f.B(1).Addr4()}, {f.A(1).Addr6(), f.B(1).Addr6()}} {
		if whole, changed := exchange(t, f, a[0], a[1], 100); whole != 100 || changed != 0 {
			t.Errorf("to %s: %d whole, %d changed of 100", a[1], whole, changed)
		}
	}
	if d := c.Drops(); d != (Drops{}) {
		t.Errorf("the cable lost frames: %+v", d)
	}
}

func TestKernelDropsWhatIsCorrupted(t *testing.T) {
	f, c := joined(t, Impairment{Corrupt: 1})
	if whole, changed := exchange(t, f, f.A(1).Addr4(), f.B(1).Addr4(), 50); whole+changed != 0 {
		t.Errorf("%d whole, %d changed came through", whole, changed)
	}
	if ab, _ := c.Stats(); ab.Corrupted < 50 {
		t.Errorf("%+v", ab)
	}
}

func TestFixedChecksumHidesCorruption(t *testing.T) {
	f, _ := joined(t, Impairment{Corrupt: 1, FixChecksum: true})
	if whole, changed := exchange(t, f, f.A(1).Addr4(), f.B(1).Addr4(), 50); whole != 0 || changed != 50 {
		t.Errorf("%d whole, %d changed of 50", whole, changed)
	}
}

func TestDuplicatesAndLossOnTheWire(t *testing.T) {
	f, _ := joined(t, Impairment{Duplicate: 1})
	if whole, _ := exchange(t, f, f.A(1).Addr4(), f.B(1).Addr4(), 50); whole != 100 {
		t.Errorf("%d of 100 copies", whole)
	}
}

// BenchmarkCable measures the frames per second in one direction of a cable.
func BenchmarkCable(b *testing.B) {
	f, c := joined(b, Impairment{})
	to := netip.AddrPortFrom(f.B(1).Addr4(), 9000)
	out, err := f.A(1).Dial("udp4", to.String(), time.Second)
	must(b, err)
	defer out.Close()
	packet := make([]byte, 1400)
	before, _ := c.Stats()
	start := time.Now()
	for b.Loop() {
		// Without a listener, a write sometimes returns an error, which is ignored.
		_, _ = out.Write(packet)
	}
	after, _ := c.Stats()
	b.ReportMetric(float64(after.Out-before.Out)/time.Since(start).Seconds(), "frames/s")
	b.ReportMetric(float64(after.Out-before.Out)/float64(b.N), "carried")
}
