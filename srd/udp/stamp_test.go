package udp

import (
	"testing"
	"time"
)

// Every datagram has a receive stamp from the kernel, and a merged train has one for all
// its packets. The stamp is neither before the sending nor after the reading.
func TestWhatComesIsStamped(t *testing.T) {
	near, far := newSpace(t), newSpace(t)
	cable(t, near, far)
	a, b := near.open(t, Config{Ports: 1}), far.open(t, Config{Ports: 1})
	for _, to := range []string{"10.9.0.2", "fd09::2"} {
		for _, packets := range []int{1, 10} {
			s, r := NewSender(a, new(SendStats)), NewReceiver(new(Bank), new(RecvStats))
			sent := time.Now().UnixNano()
			s.Send(train(at(b, to), packets, 1400))
			d := receive(t, r, fdFor(b, to))
			if now := time.Now().UnixNano(); d.Stamp < sent || d.Stamp > now {
				t.Errorf("%d packets to %s: sent at %d, stamped at %d, now %d", packets, to, sent, d.Stamp, now)
			}
			if packets > 1 && d.Segment != 1400 {
				t.Errorf("segments of %d", d.Segment)
			}
		}
	}
}
