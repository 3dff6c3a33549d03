package steer

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd/mono"
)

// clove returns the policy with n known paths.
func clove(n int) *CloveECN {
	c := NewCloveECN(1, DefaultFlowletTimeout)
	c.Pick(1, setOf(n), Context{})
	return c
}

func (c *CloveECN) wants(t *testing.T, what string, want ...float64) {
	t.Helper()
	for p, w := range want {
		if math.Abs(float64(c.weight[p])-w) > 1e-5 {
			t.Errorf("%s: weights %v, want %v", what, c.weight[:len(want)], want)
			return
		}
	}
}

func TestCloveWeightsByHand(t *testing.T) {
	c, ms := clove(4), mono.Time(1e6)
	mark := Sample{CE: true, RTT: time.Millisecond}
	c.Sample(10*ms, 0, Sample{RTT: time.Millisecond})
	c.wants(t, "no mark", 1, 1, 1, 1)
	c.Sample(10*ms, 0, mark)
	c.wants(t, "a third to three others", 2.0/3, 10.0/9, 10.0/9, 10.0/9)
	c.Sample(10*ms+ms/2, 0, mark)
	c.wants(t, "again within the round trip", 2.0/3, 10.0/9, 10.0/9, 10.0/9)
	c.Sample(10*ms+ms/2, 1, mark)
	c.wants(t, "to those not marked", 2.0/3, 20.0/27, 10.0/9+5.0/27, 10.0/9+5.0/27)
	c.Sample(10*ms+ms/2, 2, mark)
	c.Sample(10*ms+ms/2, 3, mark)
	c.wants(t, "nobody to give to", 2.0/3, 20.0/27, 70.0/81, 10.0/9+5.0/27+35.0/81)
	c.Reset(3)
	if sum := c.weight[0] + c.weight[1] + c.weight[2]; math.Abs(float64(sum)-3) > 1e-5 || c.weight[3] != 0 {
		t.Errorf("weights %v after path 3 is gone", c.weight[:4])
	}
}

// The mean of the weights is 1, and no weight is so low that its path is never used.
func TestCloveWeightsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "paths")
		c, now := clove(n), mono.Time(1e6)
		for range rapid.IntRange(1, 300).Draw(t, "marks") {
			now += mono.Time(rapid.IntRange(0, 2e6).Draw(t, "wait"))
			p := rapid.IntRange(0, MaxPaths-1).Draw(t, "path") % (n + 1)
			c.Sample(now, p, Sample{CE: true, RTT: time.Millisecond})
			sum := 0.0
			for q := range n {
				sum += float64(c.weight[q])
				if c.weight[q] < cloveLeast/2 {
					t.Fatalf("path %d has weight %v", q, c.weight[q])
				}
			}
			if math.Abs(sum-float64(n)) > 0.01*float64(n) {
				t.Fatalf("weights %v", c.weight[:n])
			}
		}
	})
}

// Flowlets follow the weights.
func TestCloveFollowsWeights(t *testing.T) {
	c, usable := clove(2), setOf(2)
	c.weight[0], c.weight[1] = 0.5, 1.5
	var got [2]int
	for i := range 4000 {
		got[c.Pick(mono.Time(i+1)*1e7, usable, Context{Flow: uint32(i % 3)})]++
	}
	if r := float64(got[1]) / float64(got[0]); math.Abs(r-3) > 0.05 {
		t.Errorf("flowlets %v", got)
	}
}
