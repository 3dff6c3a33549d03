package tundev

import (
	"encoding/binary"
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"golang.org/x/sys/unix"
)

// Without offload the kernel delivers and accepts single packets with complete checksums.
func TestWithoutOffload(t *testing.T) {
	for _, at := range []string{"10.77.0.2:5001", "[fd77::2]:5001"} {
		for _, off := range [][2]bool{{true, true}, {true, false}, {false, true}} {
			w := &wire{a: newSpace(t), b: newSpace(t)}
			w.devA, w.devB = w.a.open(t, 1, Options{NoOffload: off[0]}), w.b.open(t, 2, Options{NoOffload: off[1]})
			see := func(from *Device) func(f *frame.Frame) {
				return func(f *frame.Frame) {
					if from.Offloads().Off && (f.Facts.CSum || f.Facts.GSO != frame.GSONone) {
						t.Errorf("%s, off %v: %+v", at, off, f.Facts)
					}
				}
			}
			pump(t, w.devA, w.devB, see(w.devA))
			pump(t, w.devB, w.devA, see(w.devB))
			w.transfer(t, at, 4<<20, asItIs)
			w.clean(t)
			a, b := w.devA.Stats(), w.devB.Stats()
			if (a.ReadSuper == 0) != off[0] || off[0] && a.ReadSingles < a.Read/2 {
				t.Errorf("%s, off %v: read %d frames, %d super-frames, %d that continued another", at, off, a.Read, a.ReadSuper, a.ReadSingles)
			}
			if off[1] && (b.WrittenSuper != 0 || b.Cut != a.ReadSuper) || !off[1] && b.Cut != 0 {
				t.Errorf("%s, off %v: read %d super-frames, wrote %d, cut %d", at, off, a.ReadSuper, b.WrittenSuper, b.Cut)
			}
		}
	}
}

// With offload, most packets of a bulk flow arrive in super-frames.
func TestBulkComesInSuperFrames(t *testing.T) {
	w := newWire(t)
	w.transfer(t, "10.77.0.2:5001", 16<<20, asItIs)
	if s := w.devA.Stats(); s.ReadSingles > s.ReadSuper {
		t.Errorf("%d packets continued another, and %d super-frames came", s.ReadSingles, s.ReadSuper)
	}
}

// Packets with AccECN's flag, which therefore arrive one by one, are counted.
func TestAccECNIsCounted(t *testing.T) {
	s := newSpace(t)
	d := s.open(t, 1, Options{})
	to := netip.MustParseAddrPort("10.77.0.2:5001")
	var fd int
	s.Must(t, func() (err error) {
		fd, err = unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
		return err
	})
	defer unix.Close(fd)
	const payload, count = 1000, 5
	b := make([]byte, 40+payload)
	b[0], b[8], b[9] = 0x45, 64, packet.ProtoTCP
	copy(b[12:], []byte{10, 77, 0, 1, 10, 77, 0, 2})
	b[33] = 0x10 // ACK
	seq := uint32(0)
	for _, flags := range []byte{5<<4 | 1, 5 << 4} {
		b[32] = flags
		for range count {
			binary.BigEndian.PutUint32(b[24:], seq)
			seq += payload
			must(t, unix.Sendto(fd, b, 0, sockaddr(to)))
		}
	}
	batch := make([]*frame.Frame, 64)
	for start := time.Now(); d.Stats().ReadSingles == 0 && time.Since(start) < 10*time.Second; {
		n, err := d.Queue(0).ReadBatch(batch, math.MaxInt)
		must(t, err)
		for _, f := range batch[:n] {
			f.Release()
		}
	}
	if got := d.Stats(); got.ReadSingles != 2*count-1 || got.ReadAccECN != count-1 {
		t.Errorf("%d continued another, %d of them with the flag; want %d and %d", got.ReadSingles, got.ReadAccECN, 2*count-1, count-1)
	}
}
