package udp

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/srdtun/srdtun/srd"
)

// BenchmarkTrain sends one train over the loopback device and receives it. It measures two
// system calls, and the kernel's work between them.
func BenchmarkTrain(b *testing.B) {
	for _, packets := range []int{1, 10, 44} {
		b.Run(fmt.Sprintf("packets=%d", packets), func(b *testing.B) {
			s := newSpace(b)
			from, to := s.open(b, Config{Ports: 1}), s.open(b, Config{Ports: 1})
			send, r := NewSender(from, new(SendStats)), NewReceiver(new(Bank), new(RecvStats))
			tr := train(at(to, "127.0.0.1"), packets, 1472)
			tr.Tuple.Local = srd.UplinkOf(netip.MustParseAddr("127.0.0.1"), 0)
			var d Datagram
			b.SetBytes(int64(len(tr.Buf)))
			b.ReportAllocs()
			for b.Loop() {
				send.Send(tr)
				if !one(r, fdFor(to, "127.0.0.1"), &d) || len(d.Data) != len(tr.Buf) {
					b.Fatal("the train did not come whole")
				}
			}
		})
	}
}
