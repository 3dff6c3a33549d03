package queue

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Flows counts the flows served in the last interval, weighted by their bytes.
func TestFlowsAreCountedByTheirBytes(t *testing.T) {
	now := mono.Time(1e9)
	var a active
	var flows [9]flow
	for i := range 5000 {
		now = now.Add(100 * time.Microsecond)
		a.add(now, &flows[i%4], 1500, DefaultInterval)
		a.add(now, &flows[4+i%5], 40, DefaultInterval) // acknowledgements of other flows
	}
	if a.count < 4 || a.count > 4.5 {
		t.Errorf("four equal flows and five tiny ones count as %.2f", a.count)
	}
	for range 3000 {
		now = now.Add(100 * time.Microsecond)
		a.add(now, &flows[0], 1500, DefaultInterval)
	}
	if a.count != 1 {
		t.Errorf("one flow counts as %.2f", a.count)
	}
}
