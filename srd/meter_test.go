package srd

import (
	"math"
	"testing"
	"time"
)

// With a steady rate, Delivered returns the rate of UDP payload bytes. Before the first
// acknowledgement, and a second after the last one, it returns 0.
func TestDelivered(t *testing.T) {
	s := newScript(t, 2)
	if r := s.c.Delivered(s.now); r != 0 {
		t.Fatalf("%.0f bytes/s before anything was sent", r)
	}
	const every, each = 10 * time.Millisecond, 5
	for range 2 { // the second time after a pause, which is not part of the measurement
		size := 0
		for range 2 * int(meterSpan/every) {
			var pns []uint64
			for _, p := range s.send(each, 0) {
				size, pns = p.size, append(pns, p.pn)
			}
			s.wait(every - 200*time.Microsecond) // the acknowledgement takes the other 200 us
			s.ack(got(0, pns...))
		}
		want := each * float64(size) / every.Seconds()
		if r := s.c.Delivered(s.now); math.Abs(r-want) > 0.1*want {
			t.Errorf("%.0f bytes/s, want %.0f", r, want)
		}
		s.wait(meterStale + meterSpan)
		if r := s.c.Delivered(s.now); r != 0 {
			t.Errorf("%.0f bytes/s after %v of silence", r, meterStale)
		}
	}
}
