// Package metrics exports the daemon's status to Prometheus. The package has no counters of its
// own, but exports those in the status. Each scrape reads the same status as `srdtun show`, at
// most once a second.
package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/srdtun/srdtun/overlay/control"
)

// Source provides the daemon's status and limits.
type Source struct {
	Status func() control.Status
	// Reasons are the names of all drop counters. A counter without drops is exported as zero, so
	// Prometheus detects its first increase.
	Reasons []string
	// QueueBytes and OrderBytes are the limits of the memory of one peer's queue and of its
	// reordering buffer.
	QueueBytes, OrderBytes uint64
	PerPath                bool // series for each path
}

// maxPaths bounds the number of paths with series of their own. With nine series for each path, a
// scrape of that many paths has some 10 MB.
const maxPaths = 4096

// Collector implements prometheus.Collector.
type Collector struct {
	src  Source
	sums sums
}

// New returns a collector for a single registry. Only one goroutine may collect at a time.
func New(src Source) *Collector { return &Collector{src: src, sums: newSums()} }

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range table {
		ch <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	st := c.src.Status()
	c.sums.take(&st)
	e := emitter{ch: ch, labels: []string{st.Interface}}
	c.collectInterface(e, &st)
	left := maxPaths
	for i := range st.Peers {
		p := &st.Peers[i]
		e := e.with(p.PublicKey, p.Name)
		collectPeer(e, p)
		if c.src.PerPath {
			left -= collectPaths(e, p.Paths, left)
		}
	}
	if c.src.PerPath {
		e.put(pathsLeftOut, float64(countPaths(&st)-(maxPaths-left)))
	}
}

func (c *Collector) collectInterface(e emitter, st *control.Status) {
	e.put(info, 1, st.Version, st.PublicKey, st.Cipher)
	e.put(uptime, float64(st.UptimeS))
	e.put(mtu, float64(st.MTU))
	e.count(readFrames, st.Device.ReadFrames)
	e.count(readSingles, st.Device.ReadSingles)
	e.count(readAccECN, st.Device.ReadAccECN)
	e.count(readBytes, st.Device.ReadBytes)
	e.count(writtenFrames, st.Device.WrittenFrames)
	e.count(writtenBytes, st.Device.WrittenBytes)
	e.count(trains, st.Sends.Trains)
	e.count(packets, st.Sends.Packets)
	e.count(unsegmented, st.Sends.Unsegmented)
	for i, w := range st.Workers {
		e.count(workerReceived, w.RxPackets, strconv.Itoa(i))
	}
	e.count(enaEligible, c.sums.total("pushed"))
	e.count(enaTx, c.sums.total("popped"))
	e.count(enaRx, c.sums.total("delivered"))
	e.put(enaUse, c.utilization(st))
	for _, reason := range c.reasons(st) {
		e.count(drops, st.Drops[reason]+c.sums.total(dropped+reason), reason)
	}
}

// utilization returns the fill level of the fullest queue or reordering buffer, in percent.
func (c *Collector) utilization(st *control.Status) (most float64) {
	for i := range st.Peers {
		q, o := st.Peers[i].Queue.Bytes, st.Peers[i].Order.MemoryBytes
		most = max(most, 100*float64(q)/float64(max(1, c.src.QueueBytes)), 100*float64(o)/float64(max(1, c.src.OrderBytes)))
	}
	return most
}

// emitter sends values with the labels of their interface, peer or path.
type emitter struct {
	ch     chan<- prometheus.Metric
	labels []string
}

func (e emitter) with(labels ...string) emitter {
	return emitter{e.ch, append(e.labels[:len(e.labels):len(e.labels)], labels...)}
}

func (e emitter) put(m *metric, v float64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(m.desc, m.kind, v, e.with(labels...).labels...)
}

func (e emitter) count(m *metric, n uint64, labels ...string) { e.put(m, float64(n), labels...) }
