package steer

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd/mono"
)

// ageBits is the table of the paper: each entry has a valid bit and an age bit, and a timer
// expires after each timeout.
type ageBits struct {
	timeout     time.Duration
	swept       int64
	valid, aged [8]bool
}

func (b *ageBits) touch(now mono.Time, flow uint32) bool {
	for ; b.swept < int64(now)/int64(b.timeout); b.swept++ {
		for i := range b.valid {
			b.valid[i] = b.valid[i] && !b.aged[i]
			b.aged[i] = true
		}
	}
	active := b.valid[flow]
	b.valid[flow], b.aged[flow] = true, false
	return active
}

func TestFlowletTableAgainstAgeBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timeout := time.Duration(rapid.IntRange(1, 1000).Draw(t, "timeout"))
		table, twin, now := flowlets{timeout: timeout}, ageBits{timeout: timeout}, mono.Time(0)
		for range rapid.IntRange(1, 200).Draw(t, "packets") {
			now += mono.Time(rapid.IntRange(0, 3*int(timeout)).Draw(t, "gap"))
			flow := rapid.Uint32Range(0, 7).Draw(t, "flow")
			e, active := table.touch(now, flow)
			if want := twin.touch(now, flow); active != want {
				t.Fatalf("flow %d at %d: active %v, with age bits %v", flow, now, active, want)
			}
			e.path = 1
		}
	})
}
