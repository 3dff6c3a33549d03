package steer

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// BenchmarkTrain measures the cost of one train for a policy: a choice among 32 paths, and
// one sample.
func BenchmarkTrain(b *testing.B) {
	for _, name := range Names() {
		b.Run(name, func(b *testing.B) {
			p, usable, now := made(b, name, 1), setOf(32), mono.Time(1)
			sender, _ := p.(Sender)
			b.ReportAllocs()
			for i := range b.N {
				now += 1e5
				path := p.Pick(now, usable, Context{Target: target, Flow: uint32(i % 20), Bytes: 60000})
				p.Sample(now, path, Sample{Queue: time.Duration(i%8) * time.Millisecond, RTT: time.Millisecond})
				if sender != nil {
					sender.Sent(now, path, uint32(i%20), 60000)
				}
			}
		})
	}
}
