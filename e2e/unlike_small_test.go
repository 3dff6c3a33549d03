package e2e

import (
	"flag"
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/linkemu"
	"github.com/srdtun/srdtun/e2e/meter"
)

// A transfer of 64 KiB takes a few round trips. Its time depends on the delay of its paths, and on
// the transport's earlier measurements of them.
const (
	smallBytes = 64 << 10
	// smallPause is long enough for the queues of the last transfer to become empty.
	smallPause = 200 * time.Millisecond
)

var smallCount = flag.Int("unlike-transfers", 12, "how many transfers of 64 KiB TestUnlikePathsSmall makes over each way")

// TestUnlikePathsSmall tests that small transfers take no longer over two paths than over the
// better path alone.
func TestUnlikePathsSmall(t *testing.T) {
	for _, p := range profiles {
		if !chosen(p.name) {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			var a, b, both, plainA, plainB meter.Latency
			t.Run("over", func(t *testing.T) {
				small(t, "a", &a, true, p.a)
				small(t, "b", &b, true, p.b)
				small(t, "ab", &both, true, p.a, p.b)
				if *unlikePlain {
					small(t, "plain_a", &plainA, false, p.a)
					small(t, "plain_b", &plainB, false, p.b)
				}
			})
			if t.Failed() {
				return
			}
			better := min(a.P50, b.P50)
			t.Logf("%s: a %v; b %v; both %v: %.2f; TCP %v; %v", p.name, a, b, both, better.Seconds()/both.P50.Seconds(), plainA, plainB)
			if better.Seconds() < unlikeShare*both.P50.Seconds() {
				t.Errorf("half of the transfers took %v or more, over the better path alone %v", both.P50, better)
			}
		})
	}
}

// small measures transfers over these paths, with or without a tunnel. The transfers are so small
// that all measurements run at the same time.
func small(t *testing.T, name string, l *meter.Latency, through bool, paths ...linkemu.Impairment) {
	t.Helper()
	between(t, name, through, true, paths, func(t *testing.T, f *fabric.Fabric, to netip.Addr) {
		var err error
		if *l, err = meter.Transfers(f.B(1), f.A(1), to, smallBytes, *smallCount, smallPause); err != nil {
			t.Fatal(err)
		}
	})
}
