package main

import "fmt"

// bench measures rules: cases of a plan on a kind of host.
type bench struct {
	plan, cases, host string
	figures           []string // of lab.Summary; more is worse but for goodput and shares
	times             int      // as many seeds as others have, for figures that vary and play fast; 0: once
}

func (b *bench) String() string { return fmt.Sprintf("%s, %s, %s", b.plan, b.cases, b.host) }

// seeds is the number of seeds to play.
func (b *bench) seeds(o *options) int { return max(1, b.times) * o.seeds }

// benches are all benches, the quickest first. A rule that one of them keeps needs no more.
var benches = []bench{
	{plan: "rules", cases: "permutation", host: "daemon", figures: []string{"mean_us", "max_us"}},
	{plan: "rules", cases: "dead cables", host: "daemon", figures: []string{"mean_us", "max_us"}},
	{plan: "rules", cases: "slow cables", host: "daemon", figures: []string{"mean_us", "max_us"}},
	{plan: "rules", cases: "loss", host: "daemon", figures: []string{"mean_us", "max_us"}},
	{plan: "rules", cases: "grey cables", host: "daemon", figures: []string{"mean_us", "p99_us"}},
	{plan: "rules", cases: "incast", host: "daemon", figures: []string{"mean_us", "max_us"}, times: 5},
	{plan: "wan-small", cases: "rtt_320 both", host: "daemon", figures: []string{"mean_us", "p99_us"}},
	{plan: "wan-small", cases: "jit_20 both", host: "daemon", figures: []string{"mean_us", "p99_us"}},
	{plan: "wan-small", cases: "loss_2 both", host: "daemon", figures: []string{"mean_us", "p99_us"}},
	{plan: "wan-small", cases: "lte_geo both", host: "daemon", figures: []string{"mean_us", "p99_us"}},
	{plan: "wan-small", cases: "fiber dies", host: "daemon", figures: []string{"mean_us", "p99_us"}},
	{plan: "srd-incast", cases: "srd 2M", host: "daemon", figures: []string{"mean_us", "max_us"}},
	{plan: "wan-small", cases: "bw_10to1 both", host: "daemon", figures: []string{"mean_us", "p99_us"}},
	{plan: "wan-small", cases: "congested both", host: "daemon", figures: []string{"mean_us", "p99_us"}},
	{plan: "perm-32", cases: "1 % loss", host: "daemon", figures: []string{"mean_us", "max_us"}},
	{plan: "perm-32", cases: "dead cable", host: "daemon", figures: []string{"mean_us", "max_us"}},
	{plan: "perm-128", cases: "4 bad", host: "daemon", figures: []string{"mean_us", "max_us"}},
	{plan: "coexist", cases: "1 beside 1", host: "daemon", figures: []string{"least_share"}},
	{plan: "coexist-policed", cases: "1 beside 1, 200 Mbit/s, 4 ms", host: "daemon", figures: []string{"least_share"}},
	{plan: "coexist-policed", cases: "tunnel alone, 200 Mbit/s, 4 ms", host: "daemon", figures: []string{"goodput_gbps"}},
	{plan: "wan-bulk", cases: "jit_20 both", host: "daemon", figures: []string{"goodput_gbps"}},
	{plan: "wan-bulk", cases: "congested both", host: "daemon", figures: []string{"goodput_gbps"}},

	{plan: "wan-bulk", cases: "two ways a", host: "daemon", figures: []string{"goodput_gbps", "least_share"}},
	{plan: "wan-bulk", cases: "reorder a", host: "daemon", figures: []string{"goodput_gbps"}},
	{plan: "wan-bulk", cases: "rtt_40 both", host: "daemon", figures: []string{"goodput_gbps"}},
	{plan: "wan-bulk", cases: "fiber_lte both", host: "daemon", figures: []string{"goodput_gbps"}},
	{plan: "wan-bulk", cases: "reordered both", host: "daemon", figures: []string{"resent"}},
}

// quickBenches are how many of benches are played before the swarm's seeds. -quick plays no
// others.
const quickBenches = 22
