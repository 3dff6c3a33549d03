package rivals

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/lab/stat"
	"github.com/srdtun/srdtun/lab/workload"
)

// These variables are the networks of the flag -strain: uneven fabrics, and many senders to one
// host. Network fourLinks also belongs to -strain.
var (
	slowSpine = network{"slow-spine", "leaf-spine, three spines of 100 Mbit/s and one of 25", 0, true}
	onePort   = network{"port", "four hosts and one, spines without a limit, one port of 1 Gbit/s with 512 KB", 0, true}
)

// These constants are the rows of the flag -strain.
const (
	rowWebsearch = "websearch" // flows that arrive at random
	rowBatch     = "batch"     // 16 concurrent flows of 2 MB
	rowIncast2M  = "incast2m"  // 12 concurrent flows of 2 MB from each host
	rowIncast64K = "incast64k" // 12 concurrent flows of 64 KB from each host
)

var strainMatrix = []entry{
	{slowSpine, plainTCP, []string{rowWebsearch}},
	{slowSpine, mptcp, []string{rowWebsearch}},
	{slowSpine, wireguardGo, []string{rowWebsearch}},
	{slowSpine, srdtun, []string{rowWebsearch}},

	{fourLinks, plainTCP, []string{rowBatch}},
	{fourLinks, mptcp, []string{rowBatch}},
	{fourLinks, wireguardGo, []string{rowBatch}},
	{fourLinks, srdtun, []string{rowBatch}},

	{onePort, plainTCP, []string{rowIncast2M, rowIncast64K}},
	{onePort, mptcpStar, []string{rowIncast2M, rowIncast64K}},
	{onePort, wireguardStar, []string{rowIncast2M, rowIncast64K}},
	{onePort, srdtunStar, []string{rowIncast2M, rowIncast64K}},
}

var strainRows = []string{rowWebsearch, rowBatch, rowIncast2M, rowIncast64K}

const (
	slowMbit = 25
	portMbit = 1000
	// portQueue and portBurst are the sizes of the shared port's queue and token bucket in bytes.
	// The queue is 4 ms long, and the bucket is large enough for the kernel's timer.
	portQueue, portBurst = 512 << 10, 32 << 10
	portSenders          = 4
	// wireShare is the payload's share of a full TCP packet on the wire.
	wireShare = 1448.0 / 1514
	// webLoad is the offered load of the web-search flows as a share of the spines' capacity. New
	// flows arrive for the time webTime.
	webLoad = 0.6
	webTime = 12 * time.Second
	webSeed = 1
	// webFile is the file with the distribution of flow sizes.
	webFile = "lab/testdata/websearch.cdf"
	// smallFlow is the size of the largest flow that counts as small, in bytes (CONGA, section
	// 5.2).
	smallFlow = 100_000
)

// burst describes a set of simultaneous flows, which is repeated several times.
type burst struct {
	flows  int // number of flows of each sender
	size   int64
	rounds int
	mbit   float64 // rate of the shared link in Mbit/s
}

var bursts = map[string]burst{
	rowBatch:     {16, 2_000_000, 20, spines * rateMbit},
	rowIncast2M:  {12, 2_000_000, 8, portMbit},
	rowIncast64K: {12, 64_000, 20, portMbit},
}

// ideal returns the duration of a burst from the given number of senders, if full packets fill the
// shared link all the time.
func (b burst) ideal(senders int) time.Duration {
	bits := float64(senders*b.flows) * float64(b.size) * 8
	return time.Duration(bits / (b.mbit * 1e6 * wireShare) * float64(time.Second))
}

// newStrainSite builds the networks that only the flag -strain uses.
func newStrainSite(n network) (*site, error) {
	spec := fabric.Spec{Spines: spines, RateMbit: rateMbit, Addrs: mptcpAddrs}
	if n == onePort {
		spec.HostsA, spec.RateMbit = portSenders, -1
	} else {
		spec.SlowMbit = map[int]int{spines: slowMbit}
	}
	f, err := fabric.New(spec)
	if err != nil {
		return nil, err
	}
	s := &site{net: n, a: f.A(1), b: f.B(1), close: f.Close}
	if n == onePort {
		for i := range portSenders {
			s.more = append(s.more, f.A(i+1))
		}
		s.port = f.LeafB
		if _, err := s.port.Run("tc", "qdisc", "replace", "dev", portDevice, "root", "tbf", "rate", fmt.Sprintf("%dmbit", portMbit),
			"burst", fmt.Sprint(portBurst), "limit", fmt.Sprint(portQueue)); err != nil {
			return nil, firstError(err, f.Close())
		}
	}
	return s, nil
}

// portDevice is the device of leaf B towards its first host.
const portDevice = "h1"

// senders returns the hosts that send the measured flows.
func (s *site) senders() []*fabric.Host {
	if s.more != nil {
		return s.more
	}
	return []*fabric.Host{s.a}
}

// drops returns how many packets the shared port has dropped.
func (s *site) drops() (float64, error) {
	if s.port == nil {
		return 0, nil
	}
	text, err := s.port.Run("tc", "-s", "-j", "qdisc", "show", "dev", portDevice)
	if err != nil {
		return 0, err
	}
	var all []struct {
		Kind  string  `json:"kind"`
		Drops float64 `json:"drops"`
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return 0, err
	}
	for _, q := range all {
		if q.Kind == "tbf" {
			return q.Drops, nil
		}
	}
	return 0, fmt.Errorf("the port has no tbf: %s", text)
}

// strain measures one row of the flag -strain.
func (b *bench) strain(s *site, l *link, row string) ([]value, error) {
	if row == rowWebsearch {
		return b.websearch(s, l)
	}
	x := bursts[row]
	before, err := s.drops()
	if err != nil {
		return nil, err
	}
	took, err := playBursts(s, l, x)
	if err != nil {
		return nil, err
	}
	after, err := s.drops()
	if err != nil {
		return nil, err
	}
	ideal := x.ideal(len(s.senders()))
	over := func(q float64) float64 { return float64(stat.Quantile(took, q)) / float64(ideal) }
	values := []value{{"p50_over_ideal", over(0.5)}, {"p99_over_ideal", over(0.99)}, {"max_over_ideal", over(1)}}
	if s.port != nil {
		values = append(values, value{"drops", after - before})
	}
	return values, nil
}

// websearch starts flows at random times, with sizes from the web-search distribution.
func (b *bench) websearch(s *site, l *link) ([]value, error) {
	text, err := os.ReadFile(filepath.FromSlash(webFile))
	if err != nil {
		return nil, err
	}
	sizes, err := workload.ParseSizes(webFile, string(text))
	if err != nil {
		return nil, err
	}
	const capacity = ((spines-1)*rateMbit + slowMbit) * 1e6 / 8 * wireShare
	flows := workload.Poisson(rand.New(rand.NewPCG(webSeed, 0)), []int{0}, []int{1}, sizes, webLoad, capacity, webTime)
	took, err := playFlows(s, l, flows)
	if err != nil {
		return nil, err
	}
	var small []time.Duration
	for i, f := range flows {
		if f.Size < smallFlow {
			small = append(small, took[i])
		}
	}
	return []value{
		{"mean_ms", meanMs(took)}, {"p99_ms", ms(stat.Quantile(took, 0.99))},
		{"small_mean_ms", meanMs(small)}, {"small_p99_ms", ms(stat.Quantile(small, 0.99))},
	}, nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func meanMs(v []time.Duration) float64 {
	var sum time.Duration
	for _, d := range v {
		sum += d
	}
	return ms(sum) / float64(max(1, len(v)))
}
