package swarm

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd/cc"
)

// A host that receives data at the full rate of the link can also send at the full rate.
// The queue on the return path does not count as a queue of its own packets.
func TestUploadBesideDownload(t *testing.T) {
	const rate = 50 * mbit
	for _, spines := range []int{1, 4} {
		for _, trip := range []time.Duration{4 * time.Millisecond, 40 * time.Millisecond} {
			q := net.Quality{Rate: rate, Delay: trip / 4, Queue: 8 << 20}
			f := twoHosts(spines, 16, q, nil)
			f.boot()
			f.wantSoon(t, 50, 5*time.Second)
			carries := rate * float64(spines)
			f.say(0, int(carries*12/1000))
			f.pass(t, time.Second, nil)
			f.say(1, int(carries*12/1000))
			f.pass(t, 2*time.Second, nil)
			const rounds = 16
			var sent [2]float64
			var queue [2]time.Duration
			for range rounds {
				f.pass(t, 250*time.Millisecond, nil)
				for i, p := range f.Peers()[:2] {
					sent[i] += p.Conn.Delivered(p.Host().Clock()) / rounds
					waits, _ := p.Conn.Queue()
					queue[i] += waits / rounds
				}
			}
			for i := range sent {
				t.Logf("%d links, %v: %.2f of what they carry, queue %v", spines, trip, sent[i]/carries, queue[i])
				if sent[i] < 0.75*carries || queue[i] > 3*cc.TargetCeiling {
					t.Errorf("%d links, %v, host %d: %.2f of what they carry, queue %v", spines, trip, i, sent[i]/carries, queue[i])
				}
			}
		}
	}
}
