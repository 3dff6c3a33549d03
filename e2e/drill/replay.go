package drill

import (
	"fmt"
	"time"

	"github.com/srdtun/srdtun/e2e/tunnel"
)

// replay records all packets of a session, including handshakes. Afterwards, the drill sends the
// recorded packets repeatedly while the session continues.
func replay(r *run) error {
	d, err := r.direct()
	if err != nil {
		return err
	}
	tape, err := record(d)
	if err != nil {
		return err
	}
	r.later(tape.close)
	if _, err := r.pair(d.A, d.B, tunnel.Config{}); err != nil {
		return err
	}
	s, err := r.stream(d.A, d.B)
	if err != nil {
		return err
	}
	// A minute of replay sends sixty times the number of packets that were recorded.
	time.Sleep(r.pick(5*time.Second, time.Minute))
	tape.stop()
	from, packets := time.Now(), 0
	times := int(r.pick(20, 60))
	for range times {
		n, err := tape.play()
		packets += n
		if err != nil {
			return err
		}
	}
	took := time.Since(from)
	fmt.Fprintf(r.Log, "replay: %d packets in %.1f s\n", packets, took.Seconds())
	r.least("packets replayed", float64(packets), float64(times)*100, "")
	r.within("longest pause of the traffic", s.LongestGap(from, time.Now()), maxMove)
	time.Sleep(time.Second)
	r.whole(s)
	return nil
}
