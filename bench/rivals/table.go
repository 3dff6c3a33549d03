package rivals

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/bench/markdown"
)

// metric describes one line of a table.
type metric struct {
	row, name, title string
	lessIsBetter     bool
}

// These constants are the names of metrics, with their units.
const (
	gbps     = "gbit_per_s"
	cpuPerGB = "cpu_s_per_gb"
	rssMiB   = "rss_mib"
	kpps     = "kpackets_per_s"
	p50us    = "p50_us"
	p99us    = "p99_us"
	mbit     = "mbit_per_s"
	p50ms    = "p50_ms"
	p99ms    = "p99_ms"
	rowIdle  = "idle" // cannot be selected, because it costs no time
	// slowestShare is the rate of the slowest flow divided by the rate of the fastest flow.
	slowestShare = "slowest_share"
)

var metrics = []metric{
	{rowTCP1, gbps, "one TCP flow, Gbit/s", false},
	{rowTCP1, cpuPerGB, "… CPU s per GB", true},
	{rowVXLAN, gbps, "one TCP flow in VXLAN, Gbit/s", false},
	{rowVXLAN, cpuPerGB, "… CPU s per GB", true},
	{rowTCP8, gbps, "eight TCP flows, Gbit/s", false},
	{rowTCP8, cpuPerGB, "… CPU s per GB", true},
	{rowUDP64, kpps, "64-byte UDP without loss, 1,000 packets/s", false},
	{rowPing, p50us, "idle ping, p50, us", true},
	{rowPing, p99us, "… p99, us", true},
	{rowRTT, p50us, "64-byte TCP requests, idle, p50, us", true},
	{rowRTT, p99us, "… p99, us", true},
	{rowRTTLoad, p50us, "64-byte TCP requests beside a bulk flow, p50, us", true},
	{rowRTTLoad, p99us, "… p99, us", true},
	{rowRTTLoad, gbps, "… and the bulk flow meanwhile, Gbit/s", false},
	{rowIdle, rssMiB, "memory of the larger daemon, idle, MiB", true},
	{rowTCP1, rssMiB, "… with one TCP flow, MiB", true},
	{rowTCP8, rssMiB, "… with eight TCP flows, MiB", true},
	{rowFlow1, mbit, "one TCP flow, Mbit/s", false},
	{rowFlow8, mbit, "eight TCP flows, Mbit/s", false},
	{rowFetch, p50ms, "requests for 64 KB, one after the other: p50, ms", true},
	{rowFetch, p99ms, "… p99, ms", true},
	{rowAsk, p50us, "requests for 64 bytes: p50, us", true},
	{rowAsk, p99us, "… p99, us", true},
	{rowWebsearch, "mean_ms", "web-search flows at 60 %: mean, ms", true},
	{rowWebsearch, "p99_ms", "… p99, ms", true},
	{rowWebsearch, "small_mean_ms", "… of those below 100 KB: mean, ms", true},
	{rowWebsearch, "small_p99_ms", "… p99, ms", true},
	{rowBatch, "p50_over_ideal", "16 flows of 2 MB at once: p50 over ideal", true},
	{rowBatch, "p99_over_ideal", "… p99", true},
	{rowBatch, "max_over_ideal", "… most", true},
	{rowIncast2M, "p50_over_ideal", "48 flows of 2 MB to the port: p50 over ideal", true},
	{rowIncast2M, "p99_over_ideal", "… p99", true},
	{rowIncast2M, "max_over_ideal", "… most", true},
	{rowIncast2M, "drops", "… packets dropped at the port", true},
	{rowIncast64K, "p50_over_ideal", "48 flows of 64 KB to the port: p50 over ideal", true},
	{rowIncast64K, "p99_over_ideal", "… p99", true},
	{rowIncast64K, "max_over_ideal", "… most", true},
	{rowIncast64K, "drops", "… packets dropped at the port", true},
	{rowPingpong, p50us, "64-byte ping-pong: p50, us", true},
	{rowPingpong, p99us, "… p99, us", true},
	{rowBandwidth, gbps, "messages of 64 KiB, or one TCP flow, Gbit/s", false},
	{rowBandwidth, cpuPerGB, "… CPU s per GB", true},
	{rowMiddle, gbps, "messages of 16 KiB, Gbit/s", false},
	{rowMiddle, cpuPerGB, "… CPU s per GB", true},
	{rowShort, gbps, "messages of 4 KiB, Gbit/s", false},
	{rowShort, cpuPerGB, "… CPU s per GB", true},
	{rowRate, kpps, "messages or datagrams of 64 bytes, 1,000/s", false},
	{rowWrite, gbps, "writes of 64 KiB to the peer's memory, Gbit/s", false},
	{rowWrite, cpuPerGB, "… CPU s per GB", true},
	{rowRead, gbps, "reads of 64 KiB from it, Gbit/s", false},
	{rowRead, cpuPerGB, "… CPU s per GB", true},
	{rowTagged, gbps, "tagged messages of 64 KiB, Gbit/s", false},
	{rowTagged, cpuPerGB, "… CPU s per GB", true},
	{rowIncast, gbps, "eight endpoints to one, Gbit/s", false},
	{rowIncast, p99us, "… p99 of a message of 64 KiB, us", true},
	{rowIncast, slowestShare, "… the slowest of the fastest", false},
	{rowMany, gbps, "one endpoint to four, Gbit/s", false},
	{rowMany, p99us, "… p99 of a message of 64 KiB, us", true},
	{rowMany, slowestShare, "… the slowest of the fastest", false},
}

// table is one table of the report, which compares several transports on one network.
type table struct {
	title string
	net   network
	kinds []kind
	base  kind // transport by whose values ratios are divided
	// rivals lists the transports that are compared with srdtun. A separate column shows the best
	// of them; if rivals is nil, there is no such column.
	rivals []kind
	only   []string // names of the rows; nil: all rows
}

var otherTunnels = []kind{wireguardGo, wireguardTS, nebula}

var messageKinds = []kind{udpSockets, srdtun, endpoints}

var tables = []table{
	{"Like a real network card: " + realVeth.title, realVeth,
		[]kind{plainTCP, mptcp, wireguardGo, wireguardTS, nebula, srdtun}, wireguardGo, otherTunnels, nil},
	{"srdtun in other ways, same network", realVeth,
		[]kind{srdtun, srdtunMTU9000, srdtunMTU65520}, srdtun, nil, oneFlow},
	{"Large packets: " + jumboVeth.title, jumboVeth, []kind{srdtun}, srdtun, nil, nil},
	{"Plain veth: " + plainVeth.title, plainVeth,
		[]kind{plainTCP, mptcp, wireguardGo, wireguardTS, nebula, srdtun}, wireguardGo, otherTunnels, nil},
	{"Four paths against one: " + fourVeths.title, fourVeths, []kind{mptcp, srdtun1Path, srdtun4Paths}, srdtun1Path, nil, nil},
	{"Four paths of 100 Mbit/s: " + fourLinks.title, fourLinks, []kind{plainTCP, mptcp, wireguardGo, srdtun}, wireguardGo, nil, nil},
	{"A spine at a quarter: " + slowSpine.title, slowSpine, []kind{plainTCP, mptcp, wireguardGo, srdtun}, plainTCP, nil, nil},
	{"Many to one: " + onePort.title, onePort, []kind{plainTCP, mptcp, wireguardGo, srdtun}, plainTCP, nil, nil},
	{"A cloud, 1:100: " + cloud500.title, cloud500, cloudKinds, plainTCP, nil, nil},
	{"A cloud, 1:100: " + cloud2000.title, cloud2000, cloudKinds, plainTCP, nil, nil},
	{"Messages between programs: " + messageVeth.title, messageVeth, messageKinds, srdtun, nil, nil},
	{"Messages between programs: " + messageLinks.title, messageLinks, messageKinds, srdtun, nil, nil},
}

// report returns the whole report, in Markdown.
func report(a about, r results) string {
	var b strings.Builder
	a.heading(&b, r)
	for _, t := range append(slices.Clip(tables), r.instanceTable()) {
		t.write(&b, r)
	}
	r.notes(&b)
	return b.String()
}

func (a about) heading(b *strings.Builder, r results) {
	fmt.Fprintf(b, "%s; %s; Linux %s\n\n", a.Date, a.Machine, a.Kernel)
	for _, name := range slices.Sorted(maps.Keys(a.Versions)) {
		fmt.Fprintf(b, "- %s: %s\n", name, a.Versions[name])
	}
	if a.Cloud {
		a.cloudHeading(b, r)
		return
	}
	fmt.Fprintf(b, "\nMedian [least..most] of %d rounds of %d s for each measurement; each round visits everything once. "+
		"Ratios are of values of the same round. Both ends share the machine. "+
		"CPU is the busy time of the whole machine (/proc/stat: user, nice, system, irq and softirq): both daemons, iperf3 and the kernel's work for packets. "+
		"The column without a tunnel is plain TCP, UDP or ping. "+
		"Without loss means below 0.1 %%, found by doubling the rate and halving the step, single datagrams in bursts of 0.2 ms from a sender of real-time priority, 32 MiB of receive buffer.\n",
		a.Rounds, a.Seconds)
}

// write appends the table to the report. Columns and rows without values are left out.
func (t table) write(b *strings.Builder, r results) {
	var kinds []kind
	for _, k := range t.kinds {
		if slices.ContainsFunc(metrics, func(m metric) bool { return t.shows(m) && r.get(t.net.name, k.name, m) != nil }) {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) == 0 {
		return
	}
	head := []string{""}
	for _, k := range kinds {
		head = append(head, k.title)
	}
	if t.rivals != nil {
		head = append(head, "srdtun against the best other tunnel")
	}
	var rows [][]string
	for _, m := range metrics {
		if t.shows(m) {
			rows = append(rows, t.lines(r, m, kinds)...)
		}
	}
	fmt.Fprintf(b, "\n### %s\n\n", t.title)
	markdown.Table(b, head, rows)
}

func (t table) shows(m metric) bool { return t.only == nil || slices.Contains(t.only, m.row) }

// lines returns the values of a metric, and a second line with their ratios to the base if there
// are any.
func (t table) lines(r results, m metric, kinds []kind) [][]string {
	values, ratios := []string{m.title}, []string{"… x " + t.base.title}
	any, compared := false, false
	base := r.get(t.net.name, t.base.name, m)
	for _, k := range kinds {
		s := r.get(t.net.name, k.name, m)
		any = any || s != nil
		values = append(values, s.spread().String())
		ratio := s.over(base)
		switch {
		case k.name == t.base.name || ratio.n == 0:
			ratios = append(ratios, "")
		default:
			ratios, compared = append(ratios, ratio.String()), true
		}
	}
	if !any {
		return nil
	}
	if t.rivals != nil {
		values = append(values, r.againstBest(t.net.name, m, t.rivals))
		ratios = append(ratios, "")
	}
	if compared {
		return [][]string{values, ratios}
	}
	return [][]string{values}
}

// againstBest compares srdtun with the rival that has the best median.
func (r results) againstBest(net string, m metric, rivals []kind) string {
	var best series
	name := ""
	for _, k := range rivals {
		s := r.get(net, k.name, m)
		if s == nil {
			continue
		}
		if worse := best != nil && (s.spread().median < best.spread().median) != m.lessIsBetter; !worse {
			best, name = s, k.title
		}
	}
	ratio := r.get(net, srdtun.name, m).over(best)
	if ratio.n == 0 {
		return ""
	}
	return fmt.Sprintf("%s x %s", ratio, name)
}

// notes appends the reasons why values are missing in the tables.
func (r results) notes(b *strings.Builder) {
	if r.disturbed > 0 {
		fmt.Fprintf(b, "\n%d values of disturbed measurements are left out.\n", r.disturbed)
	}
	if r.kept > 0 {
		fmt.Fprintf(b, "\n%d values are of disturbed measurements: there are no others.\n", r.kept)
	}
	for _, f := range r.failures {
		fmt.Fprintf(b, "\nFailed: round %d, %s, %s, %s: %s\n", f.Round, f.Net, f.Kind, f.Row, f.Error)
	}
}
