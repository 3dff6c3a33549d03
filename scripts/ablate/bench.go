package main

// bench is what a rule may be good for: cases of a plan on a kind of host.
type bench struct {
	plan, cases, host string
	figures           []string // of lab.Summary; more is worse but for goodput and shares
}

// benches are all, the quickest first: a rule that one of them keeps takes no more.
var benches = []bench{
	{"rules", "permutation", "ideal", []string{"mean_us", "max_us"}},
	{"rules", "dead cables", "ideal", []string{"mean_us", "max_us"}},
	{"rules", "dead cables", "daemon", []string{"mean_us", "max_us"}},
	{"rules", "slow cables", "ideal", []string{"mean_us", "max_us"}},
	{"rules", "slow cables", "daemon", []string{"mean_us", "max_us"}},
	{"rules", "loss", "ideal", []string{"mean_us", "max_us"}},
	{"rules", "loss", "daemon", []string{"mean_us", "max_us"}},
	{"rules", "grey cables", "ideal", []string{"mean_us", "p99_us"}},
	{"rules", "incast", "ideal", []string{"mean_us", "max_us"}},
	{"rules", "incast", "daemon", []string{"mean_us", "max_us"}},
	{"wan-small", "rtt_320 both", "ideal", []string{"mean_us", "p99_us"}},
	{"wan-small", "jit_20 both", "ideal", []string{"mean_us", "p99_us"}},
	{"wan-small", "loss_2 both", "daemon", []string{"mean_us", "p99_us"}},
	{"wan-small", "lte_geo both", "daemon", []string{"mean_us", "p99_us"}},
	{"wan-small", "fiber dies", "daemon", []string{"mean_us", "p99_us"}},
	{"srd-incast", "srd 2M", "ideal", []string{"mean_us", "max_us"}},
	{"wan-small", "bw_10to1 both", "daemon", []string{"mean_us", "p99_us"}},
	{"wan-small", "congested both", "daemon", []string{"mean_us", "p99_us"}},
	{"perm-32", "1 % loss", "ideal", []string{"mean_us", "max_us"}},
	{"perm-128", "4 bad", "ideal", []string{"mean_us", "max_us"}},
	{"coexist", "1 beside 1", "daemon", []string{"least_share"}},
	{"wan-bulk", "jit_20 both", "daemon", []string{"goodput_gbps"}},
	{"wan-bulk", "congested both", "daemon", []string{"goodput_gbps"}},

	{"perm-32", "dead cable", "ideal", []string{"mean_us", "max_us"}},
	{"perm-32", "dead cable", "daemon", []string{"mean_us", "max_us"}},
	{"perm-32", "1 % loss", "daemon", []string{"mean_us", "max_us"}},
	{"perm-128", "4 bad", "daemon", []string{"mean_us", "max_us"}},
	{"wan-bulk", "two ways a", "daemon", []string{"goodput_gbps", "least_share"}},
	{"wan-bulk", "reorder a", "daemon", []string{"goodput_gbps"}},
	{"wan-bulk", "rtt_40 both", "daemon", []string{"goodput_gbps"}},
	{"wan-bulk", "fiber_lte both", "daemon", []string{"goodput_gbps"}},
	{"wan-bulk", "reordered both", "daemon", []string{"resent"}},
}

// quickBenches are how many of benches are played before the swarm's seeds, and with -quick no others.
const quickBenches = 23
