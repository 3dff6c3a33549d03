package drill

import (
	"fmt"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/linkemu"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// streamEvery is the interval between the datagrams of a stream.
const streamEvery = 2 * time.Millisecond

// stream starts a stream of datagrams from A to B.
func (r *run) stream(a, b *fabric.Host) (*meter.Stream, error) {
	s, err := meter.StartStream(a, b, tunnel.Inner4(1), tunnel.Inner4(2), streamEvery)
	if err == nil {
		r.later(func() error { s.Close(); return nil })
	}
	return s, err
}

// download fetches a file from B to A, and adds rows for its hash and its rate.
func (r *run) download(a, b *fabric.Host, size int64, leastMbit float64) error {
	content, err := meter.Serve(b, tunnel.Inner4(2), size)
	if err != nil {
		return err
	}
	defer content.Close()
	d, err := meter.Curl(a, content.URL(), 5*time.Minute)
	if err != nil {
		return err
	}
	same := "equal"
	if d.SHA256 != content.SHA256 {
		same = "differs"
	}
	r.is(fmt.Sprintf("SHA-256 of %d MiB", size>>20), "equal", same)
	r.least("… at", float64(d.Bytes)*8e-6/d.Took.Seconds(), leastMbit, " Mbit/s")
	return nil
}

// corruptMbit is half the rate of four 100 Mbit/s paths that lose one packet in twenty. The
// receiver drops a corrupted packet, so it counts as lost.
const corruptMbit = 150

// corrupt flips bits and corrects the checksums, so that only authentication can detect the
// corruption.
func corrupt(r *run) error {
	f, err := r.fabric(fabric.Spec{Lines: true})
	if err != nil {
		return err
	}
	if err := r.cables(f, linkemu.Impairment{Corrupt: 0.05, FixChecksum: true}); err != nil {
		return err
	}
	if _, err := r.pair(f.A(1), f.B(1), tunnel.Config{}); err != nil {
		return err
	}
	size := int64(512 << 20)
	if r.Short {
		size = 64 << 20
	}
	return r.download(f.A(1), f.B(1), size, corruptMbit)
}

// duplicate makes the network deliver each packet twice.
func duplicate(r *run) error {
	f, err := r.fabric(fabric.Spec{Lines: true})
	if err != nil {
		return err
	}
	if err := r.cables(f, linkemu.Impairment{Duplicate: 1}); err != nil {
		return err
	}
	if _, err := r.pair(f.A(1), f.B(1), tunnel.Config{}); err != nil {
		return err
	}
	s, err := r.stream(f.A(1), f.B(1))
	if err != nil {
		return err
	}
	if err := r.download(f.A(1), f.B(1), 32<<20, 20); err != nil {
		return err
	}
	time.Sleep(r.pick(time.Second, 10*time.Second))
	r.whole(s)
	return nil
}

// whole adds rows for a stream that must arrive complete and unchanged.
func (r *run) whole(s *meter.Stream) {
	t := s.Tally()
	r.most("datagrams that came out twice", float64(t.Twice), 0)
	r.most("datagrams that came out of order", float64(t.Disordered), 0)
	r.most("datagrams lost, of a thousand", 1000*float64(max(0, t.Sent-t.Arrived-inFlight))/float64(max(1, t.Sent)), 1)
}

// inFlight is the number of a stream's datagrams that may be in flight: those of 50 ms.
const inFlight = int(50 * time.Millisecond / streamEvery)
