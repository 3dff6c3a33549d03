package tundev

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// wire has two devices in two network namespaces. The test copies frames from each device to the
// other.
type wire struct {
	a, b       *space
	devA, devB *Device

	frames, super, longest atomic.Int64 // from a to b: frames, super-frames, longest length
	kinds                  [frame.GSOTunnelUDP + 1]atomic.Int64
}

func newWire(t *testing.T) *wire {
	t.Helper()
	return newWireOf(t, func(a, b *Device) {})
}

// newWireOf is like newWire, but calls change() with the devices before any frame passes.
func newWireOf(t *testing.T, change func(a, b *Device)) *wire {
	t.Helper()
	w := &wire{a: newSpace(t), b: newSpace(t)}
	w.devA, w.devB = w.a.open(t, 1, Options{}), w.b.open(t, 2, Options{})
	change(w.devA, w.devB)
	pump(t, w.devA, w.devB, func(f *frame.Frame) {
		w.frames.Add(1)
		if f.Facts.GSO != frame.GSONone {
			w.super.Add(1)
		}
		w.kinds[f.Facts.GSO].Add(1)
		w.longest.Store(max(w.longest.Load(), int64(len(f.Data))))
	})
	pump(t, w.devB, w.devA, func(*frame.Frame) {})
	return w
}

// clean checks that the devices lost no frame, except the kernel's own packets on a new interface.
func (w *wire) clean(t *testing.T) {
	t.Helper()
	for _, d := range []*Device{w.devA, w.devB} {
		s := d.Stats()
		if s.ReadDrops != [packet.NumReasons]uint64{} || s.WriteDrops != [packet.NumReasons]uint64{} || s.WriteErrors+s.WriteRefused+s.WriteBusy+s.Copied != 0 {
			t.Errorf("%+v", s)
		}
	}
}

func (w *wire) transfer(t *testing.T, at string, n int, setup func(int) error) {
	t.Helper()
	client, server := dial(t, w.a, w.b, netip.MustParseAddrPort(at), setup)
	sent := make(chan [32]byte)
	go func() {
		data := bytes.Repeat([]byte("super-frames go in and come out "), n/32)
		if _, err := client.Write(data); err != nil {
			t.Errorf("send: %v", err)
		}
		if err := client.CloseWrite(); err != nil {
			t.Errorf("shut down: %v", err)
		}
		sent <- sha256.Sum256(data)
	}()
	got, err := io.ReadAll(server)
	want := <-sent
	if err != nil {
		t.Fatalf("receive: %v", err)
	}
	if sha256.Sum256(got) != want {
		t.Errorf("%d bytes came, not the %d that were sent", len(got), n)
	}
}

func asItIs(int) error { return nil }

func TestTCPSuperFrames(t *testing.T) {
	for _, c := range []struct {
		at   string
		kind frame.GSO
	}{{"10.77.0.2:5001", frame.GSOTCP4}, {"[fd77::2]:5001", frame.GSOTCP6}} {
		w := newWire(t)
		w.transfer(t, c.at, 16<<20, asItIs)
		w.clean(t)
		if w.kinds[c.kind].Load() == 0 || w.longest.Load() < 20_000 {
			t.Errorf("%s: %d super-frames, the longest %d bytes", c.at, w.kinds[c.kind].Load(), w.longest.Load())
		}
		if most := w.devA.Offloads().GSOMaxSize; w.longest.Load() > int64(most) {
			t.Errorf("%s: a frame of %d bytes although %d are the limit", c.at, w.longest.Load(), most)
		}
		if s := w.devB.Stats(); s.WrittenSuper == 0 || s.WrittenSuper != w.devA.Stats().ReadSuper {
			t.Errorf("%s: %d super-frames read, %d written", c.at, w.devA.Stats().ReadSuper, s.WrittenSuper)
		}
	}
}

// If TCP's segments are shorter than packet.Validate allows, the device cuts its super-frames into
// packets, so they arrive.
func TestSmallSegmentsAreSplit(t *testing.T) {
	w := newWire(t)
	w.transfer(t, "10.77.0.2:5001", 1<<20, func(fd int) error {
		return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG, 200)
	})
	w.clean(t)
	if s := w.devA.Stats(); s.Split == 0 {
		t.Errorf("nothing was split: %+v", s)
	}
	if n := w.longest.Load(); n > 260 {
		t.Errorf("a frame of %d bytes crossed", n)
	}
}

func TestUDPSuperFrames(t *testing.T) {
	for _, text := range []string{"10.77.0.2:5002", "[fd77::2]:5002"} {
		const size, count = 1200, 20
		w := newWire(t)
		at := netip.MustParseAddrPort(text)
		out, in := w.a.socket(t, at, unix.SOCK_DGRAM), w.b.socket(t, at, unix.SOCK_DGRAM)
		must(t, unix.Bind(in, sockaddr(at)))
		must(t, unix.SetsockoptInt(out, unix.IPPROTO_UDP, unix.UDP_SEGMENT, size))
		data := make([]byte, size*count-100) // the last segment is shorter
		for i := range data {
			data[i] = byte(i / size)
		}
		must(t, unix.Sendto(out, data, 0, sockaddr(at)))
		buf := make([]byte, 2*size)
		for i := range count {
			n, _, err := unix.Recvfrom(in, buf, 0)
			if err != nil {
				t.Fatalf("%s: datagram %d: %v", text, i, err)
			}
			if want := data[i*size : min((i+1)*size, len(data))]; !bytes.Equal(buf[:n], want) {
				t.Errorf("%s: datagram %d has %d bytes from datagram %d", text, i, n, buf[0])
			}
		}
		w.clean(t)
		if w.devA.Offloads().USO && w.kinds[frame.GSOUDP].Load() != 1 {
			t.Errorf("%s: %d super-frames, %d frames", text, w.kinds[frame.GSOUDP].Load(), w.frames.Load())
		}
	}
}

// After Open, the interface has the requested features.
func TestOffloads(t *testing.T) {
	s := newSpace(t)
	d := s.open(t, 1, Options{TxQueueLen: 33, GSOMaxSize: 50_000})
	o := d.Offloads()
	if !o.USO || o.TxQueueLen != 33 || o.GSOMaxSize != 50_000 || o.GSOMaxSegments != packet.MaxSegments || len(o.Problems) != 0 {
		t.Errorf("%+v", o)
	}
	s.Must(t, func() error {
		link, err := netlink.LinkByIndex(d.Index())
		if err != nil {
			return err
		}
		a := link.Attrs()
		if a.Name != d.Name() || a.TxQLen != 33 || a.GSOMaxSize != 50_000 || a.GSOMaxSegs != packet.MaxSegments {
			t.Errorf("%+v", a)
		}
		if mtu, err := d.MTU(); mtu != 1500 || err != nil {
			t.Errorf("MTU %d %v", mtu, err)
		}
		return nil
	})
}

func TestOpenFails(t *testing.T) {
	s := newSpace(t)
	d := s.open(t, 1, Options{})
	if err := s.Do(func() error { _, err := Open(d.Name(), 1500, Options{}); return err }); err == nil {
		t.Error("the same name twice")
	}
	if err := s.Do(func() error { _, err := Open("a-name-that-is-too-long", 1500, Options{}); return err }); err == nil {
		t.Error("a name that is too long")
	}
}

func TestCloseEndsRead(t *testing.T) {
	d := newSpace(t).open(t, 1, Options{})
	ended := make(chan error)
	go func() {
		batch := make([]*frame.Frame, 8)
		for {
			n, err := readBatch(d, batch)
			if err != nil {
				ended <- err
				return
			}
			for _, f := range batch[:n] {
				f.Release()
			}
		}
	}()
	d.Close()
	select {
	case err := <-ended:
		if err != os.ErrClosed {
			t.Errorf("%v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("ReadBatch still waits")
	}
	if _, err := readBatch(d, make([]*frame.Frame, 1)); err != os.ErrClosed {
		t.Errorf("ReadBatch: %v", err)
	}
	if err := d.Write(echo(d.Pool())); err != os.ErrClosed {
		t.Errorf("Write: %v", err)
	}
	if _, err := d.MTU(); err != os.ErrClosed {
		t.Errorf("MTU: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestDeletedInterface(t *testing.T) {
	s := newSpace(t)
	d := s.open(t, 1, Options{})
	s.Must(t, func() error {
		link, err := netlink.LinkByIndex(d.Index())
		if err != nil {
			return err
		}
		return netlink.LinkDel(link)
	})
	batch := make([]*frame.Frame, 8)
	for range 100 {
		n, err := readBatch(d, batch)
		if err != nil {
			if err != ErrGone {
				t.Errorf("ReadBatch: %v", err)
			}
			break
		}
		for _, f := range batch[:n] {
			f.Release()
		}
	}
	if err := d.Write(echo(d.Pool())); err != ErrGone || d.Stats().WriteErrors != 1 {
		t.Errorf("Write: %v, %d counted", err, d.Stats().WriteErrors)
	}
}

// echo returns an ICMP echo request from 10.77.0.2 to 10.77.0.1.
func echo(p *Pool) *frame.Frame {
	b := []byte{0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 1, 0x26, 0x45, 10, 77, 0, 2, 10, 77, 0, 1, 8, 0, 0xf7, 0xfd, 0, 1, 0, 1}
	f := p.Get(len(b))
	copy(f.Data, b)
	return f
}

// An invalid frame from a peer is dropped and counted, and the device continues to work.
func TestWriteCountsNonsense(t *testing.T) {
	d := newSpace(t).open(t, 1, Options{})
	for _, c := range []struct {
		change func(*frame.Frame)
		want   packet.Reason
	}{
		{func(f *frame.Frame) { f.Data = f.Data[:0] }, packet.Truncated},
		{func(f *frame.Frame) { f.Data[0] = 0 }, packet.BadVersion},
		{func(f *frame.Frame) { f.Data = f.Data[:27] }, packet.BadLength},
		{func(f *frame.Frame) { f.Facts.CSum = true }, packet.OffloadMismatch},
		{func(f *frame.Frame) { f.Facts.GSO = frame.GSOTCP4 }, packet.PartialMissing},
	} {
		f := echo(d.Pool())
		c.change(f)
		if err := d.Write(f); err != nil {
			t.Errorf("%v: %v", c.want, err)
		}
		if n := d.Stats().WriteDrops[c.want]; n != 1 {
			t.Errorf("%v: counted %d times", c.want, n)
		}
	}
	if s := d.Stats(); s.Written != 0 {
		t.Errorf("%d frames written", s.Written)
	}
	foreign := echo(d.Pool())
	foreign.Data = bytes.Clone(foreign.Data)
	if err := d.Write(foreign); err != nil || d.Stats().Copied != 1 || d.Stats().Written != 1 {
		t.Errorf("a frame without headroom: %v %+v", err, d.Stats())
	}
}

// The kernel replies to an echo request that was written, and the reply is read.
func TestPing(t *testing.T) {
	d := newSpace(t).open(t, 1, Options{UnorderedUDP: true})
	must(t, d.Write(echo(d.Pool())))
	batch := make([]*frame.Frame, 1)
	for range 100 {
		if _, err := readBatch(d, batch); err != nil {
			t.Fatal(err)
		}
		f := batch[0]
		if len(f.Data) == 28 && f.Data[9] == packet.ProtoICMP {
			var in packet.Info
			packet.Parse(f.Data, &in)
			if f.Data[20] != 0 || f.Flow != packet.FlowHash(f.Data, &in, d.opts.FlowKey) || f.TCP || !f.Facts.Ordered {
				t.Errorf("% x %+v", f.Data, f)
			}
			return
		}
		f.Release()
	}
	t.Fatal("no answer among the first 100 frames")
}
