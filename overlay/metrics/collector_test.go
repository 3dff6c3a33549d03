package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/srdtun/srdtun/overlay/control"
)

// sample returns a status with two peers, of which one has never answered.
func sample() control.Status {
	return control.Status{
		Interface: "lab", PublicKey: "own=", MTU: 1500, Cipher: "auto", UptimeS: 60, Version: "v1",
		Drops:   map[string]uint64{"no_route": 2, "replayed": 1},
		Device:  control.Device{ReadFrames: 100, ReadBytes: 1e6, WrittenFrames: 50, WrittenBytes: 5e5},
		Workers: []control.Worker{{RxPackets: 7}, {RxPackets: 8}},
		Peers: []control.Peer{
			{
				Name: "b", PublicKey: "b=", Endpoint: "192.0.2.1:51820", TxBytes: 1000, RxBytes: 2000,
				LatestHandshakeUnixS: 1700000000, Cipher: "aes-256-gcm", Policy: "spray",
				WaitedUs: map[string]uint64{"window": 1500000},
				Queue:    control.Queue{Pushed: 90, Popped: 80, Bytes: 250},
				Order:    control.Order{DeliveredFrames: 40, HeldUs: 2500000, MemoryBytes: 100},
				Drops:    map[string]uint64{"replayed": 3},
				Paths: []control.Path{
					{Local: "10.0.0.1:1", Remote: "192.0.2.1:51820", State: control.PathActive, SRTTUs: 1000, QueueUs: 400, Weight: 749, Lost: 5},
					{Local: "10.0.0.1:2", Remote: "192.0.2.1:51820", State: control.PathActive, SRTTUs: 5000, Weight: 249},
					{Local: "10.0.0.1:3", Remote: "192.0.2.1:51820", State: control.PathDown},
					{Local: "10.0.0.1:3", Remote: "192.0.2.1:51820", State: control.PathCandidate, Slot: 256},
				},
			},
			{PublicKey: "c="},
		},
	}
}

func source(st *control.Status) Source {
	return Source{
		Status: func() control.Status { return *st }, Reasons: []string{"no_route", "never_yet"},
		QueueBytes: 1000, OrderBytes: 1000,
	}
}

// want compares the series of the named metrics. The names are given without their prefix.
func want(t *testing.T, c prometheus.Collector, series string, names ...string) {
	t.Helper()
	var text strings.Builder
	for _, m := range table {
		for _, n := range names {
			if m.name == "srdtun_"+n {
				kind := map[prometheus.ValueType]string{counter: "counter", gauge: "gauge"}[m.kind]
				fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.help, m.name, kind)
			}
		}
	}
	for i := range names {
		names[i] = "srdtun_" + names[i]
	}
	if err := testutil.CollectAndCompare(c, strings.NewReader(text.String()+series), names...); err != nil {
		t.Error(err)
	}
}

func TestPeerSeries(t *testing.T) {
	st := sample()
	want(t, New(source(&st)), `
srdtun_sent_bytes_total{friendly_name="",interface="lab",public_key="c="} 0
srdtun_sent_bytes_total{friendly_name="b",interface="lab",public_key="b="} 1000
srdtun_latest_handshake_seconds{friendly_name="",interface="lab",public_key="c="} 0
srdtun_latest_handshake_seconds{friendly_name="b",interface="lab",public_key="b="} 1.7e+09
srdtun_session{friendly_name="",interface="lab",public_key="c="} 0
srdtun_session{friendly_name="b",interface="lab",public_key="b="} 1
srdtun_waited_seconds_total{friendly_name="b",interface="lab",limit="window",public_key="b="} 1.5
srdtun_rtt_seconds{friendly_name="b",interface="lab",public_key="b="} 0.002
srdtun_rtt_worst_seconds{friendly_name="b",interface="lab",public_key="b="} 0.005
srdtun_order_held_seconds_total{friendly_name="b",interface="lab",public_key="b="} 2.5
`, "sent_bytes_total", "latest_handshake_seconds", "session", "waited_seconds_total", "rtt_seconds", "rtt_worst_seconds", "order_held_seconds_total")
}

// Peers that never sent data have fewer series than peers that did.
func TestIdlePeersHaveFewSeries(t *testing.T) {
	st := sample()
	st.Peers = nil
	none := testutil.CollectAndCount(New(source(&st)))
	for i := range 1000 {
		st.Peers = append(st.Peers, control.Peer{PublicKey: fmt.Sprint(i), WaitedUs: map[string]uint64{"data": 1, "window": 0}})
	}
	if n := testutil.CollectAndCount(New(source(&st))) - none; n > 10*1000 {
		t.Errorf("%d series for 1,000 peers that never talked", n)
	}
}

// hubPeers is the size of the hub in docs/monitoring.md.
const hubPeers = 1000

// scrapeMost is the largest size, in bytes, of a scrape of this hub if all its peers send data.
// docs/monitoring.md promises this size.
const scrapeMost = 6 << 20

// hub returns a status with many peers that all send data, each on the default number of paths.
func hub() control.Status {
	st := sample()
	busy := st.Peers[0]
	for len(busy.Paths) < 63 {
		busy.Paths = append(busy.Paths, busy.Paths[0])
	}
	st.Peers = nil
	for i := range hubPeers {
		p := busy
		p.Name, p.PublicKey = fmt.Sprintf("peer%d", i), fmt.Sprintf("%043d=", i)
		st.Peers = append(st.Peers, p)
	}
	return st
}

func TestScrapeOfAHubIsBounded(t *testing.T) {
	st := hub()
	h, err := NewHandler(source(&st))
	must(t, err)
	if n := h.take(nil).text.Len(); n < 1<<20 || n > scrapeMost {
		t.Errorf("a scrape of %d peers has %d bytes, want %d at most", hubPeers, n, scrapeMost)
	}
}

// BenchmarkScrapeOfAHub measures the daemon's cost of a scrape, without the cost of collecting the
// status.
func BenchmarkScrapeOfAHub(b *testing.B) {
	st := hub()
	h, err := NewHandler(source(&st))
	must(b, err)
	b.ReportAllocs()
	for b.Loop() {
		h.at = time.Time{} // otherwise the handler would return the cached page
		b.SetBytes(int64(h.take(nil).text.Len()))
	}
}

func TestPathsAreCountedByState(t *testing.T) {
	st := sample()
	st.Peers = st.Peers[:1]
	want(t, New(source(&st)), `
srdtun_paths{friendly_name="b",interface="lab",public_key="b=",state="active"} 2
srdtun_paths{friendly_name="b",interface="lab",public_key="b=",state="candidate"} 1
srdtun_paths{friendly_name="b",interface="lab",public_key="b=",state="down"} 1
srdtun_paths{friendly_name="b",interface="lab",public_key="b=",state="suspect"} 0
`, "paths")
}

// A reason without drops is exported as zero, so that Prometheus sees its first increase.
func TestDropsOfAllReasons(t *testing.T) {
	st := sample()
	want(t, New(source(&st)), `
srdtun_drops_total{interface="lab",reason="never_yet"} 0
srdtun_drops_total{interface="lab",reason="no_route"} 2
srdtun_drops_total{interface="lab",reason="replayed"} 4
srdtun_peer_drops_total{friendly_name="b",interface="lab",public_key="b=",reason="replayed"} 3
`, "drops_total", "peer_drops_total")
}

func TestENAExpress(t *testing.T) {
	st := sample()
	want(t, New(source(&st)), `
srdtun_ena_srd_eligible_tx_pkts_total{interface="lab"} 90
srdtun_ena_srd_tx_pkts_total{interface="lab"} 80
srdtun_ena_srd_rx_pkts_total{interface="lab"} 40
srdtun_ena_srd_resource_utilization{interface="lab"} 25
`, "ena_srd_eligible_tx_pkts_total", "ena_srd_tx_pkts_total", "ena_srd_rx_pkts_total", "ena_srd_resource_utilization")
}

// A sum over all peers does not fall when a peer is removed, or is added again with counters at
// zero.
func TestSumsNeverFall(t *testing.T) {
	st := sample()
	c := New(source(&st))
	sent := func(want float64) {
		t.Helper()
		if got := value(t, c, "srdtun_ena_srd_tx_pkts_total"); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	sent(80)
	all := st.Peers
	st.Peers = st.Peers[1:]
	sent(80)
	again := all[0]
	again.Queue.Pushed, again.Queue.Popped = 3, 2
	st.Peers = []control.Peer{again}
	sent(82)
	again.Queue.Pushed, again.Queue.Popped = 1, 1
	st.Peers = []control.Peer{again}
	sent(83)
}

// value returns the value of a metric's only series.
func value(t *testing.T, c prometheus.Collector, name string) float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	must(t, err)
	for _, f := range families {
		if f.GetName() == name {
			if m := f.GetMetric()[0]; m.GetCounter() != nil {
				return m.GetCounter().GetValue()
			} else {
				return m.GetGauge().GetValue()
			}
		}
	}
	t.Fatalf("no %s", name)
	return 0
}

func TestPathSeriesOnlyOnDemand(t *testing.T) {
	st := sample()
	src := source(&st)
	if n := testutil.CollectAndCount(New(src), "srdtun_path_active", "srdtun_path_lost_packets_total"); n != 0 {
		t.Errorf("%d series of paths that nobody asked for", n)
	}
	src.PerPath = true
	want(t, New(src), `
srdtun_path_active{friendly_name="b",interface="lab",local="10.0.0.1:1",public_key="b=",remote="192.0.2.1:51820"} 1
srdtun_path_active{friendly_name="b",interface="lab",local="10.0.0.1:2",public_key="b=",remote="192.0.2.1:51820"} 1
srdtun_path_active{friendly_name="b",interface="lab",local="10.0.0.1:3",public_key="b=",remote="192.0.2.1:51820"} 0
srdtun_paths_left_out{interface="lab"} 0
`, "path_active", "paths_left_out")
}

func TestPathSeriesAreBounded(t *testing.T) {
	st := sample()
	st.Peers[0].Paths = nil
	for i := range maxPaths + 10 {
		st.Peers[0].Paths = append(st.Peers[0].Paths, control.Path{Local: fmt.Sprint(i), State: control.PathActive})
	}
	src := source(&st)
	src.PerPath = true
	if n := testutil.CollectAndCount(New(src), "srdtun_path_active"); n != maxPaths {
		t.Errorf("series of %d paths", n)
	}
	if n := value(t, New(src), "srdtun_paths_left_out"); n != 10 {
		t.Errorf("%v paths are said to be left out", n)
	}
}

// The names follow the rules of Prometheus.
func TestNamesAreSound(t *testing.T) {
	st := sample()
	src := source(&st)
	src.PerPath = true
	problems, err := testutil.CollectAndLint(New(src))
	must(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Every defined metric is collected, and no other.
func TestEveryMetricIsCollected(t *testing.T) {
	st := sample()
	src := source(&st)
	src.PerPath = true
	c := New(src)
	for _, m := range table {
		if testutil.CollectAndCount(c, m.name) == 0 {
			t.Errorf("%s has no series", m.name)
		}
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
