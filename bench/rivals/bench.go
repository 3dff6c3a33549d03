package rivals

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/srdtun/srdtun/bench/sockperf"
	"github.com/srdtun/srdtun/e2e/meter"
	"golang.org/x/sys/unix"
)

// bench holds the state of one comparison run.
type bench struct {
	srdtun  string // the binary
	srdperf string // the binary for "bench messages"
	tools   *tools
	scratch string // folder for keys and configurations
	seconds int
	out     *recorder
	screen  *progress
	police  bool            // "bench cloud" drops packets above a 5-tuple's rate immediately
	checked map[string]bool // networks whose rate limits were found to hold
}

// value is one measured value with its metric.
type value struct {
	metric string
	value  float64
}

// idleTime is how long a tunnel is idle before its memory is read.
const idleTime = time.Second

// visit sets up one tunnel or transport, measures its rows and removes it again. A failure is
// recorded and printed, and the run continues, so that the values of the other tunnels are not
// lost.
func (b *bench) visit(v visit) (err error) {
	failed := func(row string, err error) error {
		b.screen.failed(v, row, err)
		return b.out.add(record{Round: v.round, Net: v.net.name, Kind: v.kind.name, Row: row, Error: firstLineOf(err)})
	}
	s, err := b.newSite(v.net)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := b.check(s); err != nil {
		return err
	}
	l, err := v.kind.start(b, s)
	if l != nil && l.close != nil {
		defer func() { err = errors.Join(err, l.close()) }()
	}
	if err != nil {
		return failed("start", err)
	}
	if err := b.idleMemory(v, l); err != nil {
		return err
	}
	for _, row := range v.rows {
		if err := b.measure(v, s, l, row); err != nil {
			if err := failed(row, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// check checks the rate limits of a network once. If a limit does not hold, nothing is measured on
// this network.
func (b *bench) check(s *site) error {
	if s.check == nil || b.checked[s.net.name] {
		return nil
	}
	if err := s.check(); err != nil {
		return err
	}
	fmt.Printf("%s: its limits hold\n", s.net.name)
	b.checked[s.net.name] = true
	return nil
}

func firstLineOf(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func (b *bench) idleMemory(v visit, l *link) error {
	if len(l.pids) == 0 {
		return nil
	}
	time.Sleep(idleTime)
	mib, err := rss(l.pids)
	if err != nil {
		return err
	}
	return b.keep(v, rowIdle, []value{{rssMiB, mib}}, "")
}

// measure waits until the machine is quiet, and measures one row.
func (b *bench) measure(v visit, s *site, l *link, row string) error {
	b.screen.begin(v, row)
	var values []value
	watch, err := meter.Watched(2*time.Duration(b.seconds)*time.Second, func() (err error) {
		values, err = b.row(s, l, row)
		return err
	})
	if err != nil {
		return err
	}
	if err := b.keep(v, row, values, watch.Note); err != nil {
		return err
	}
	b.screen.end(v, row, values, watch.Note)
	return nil
}

func (b *bench) keep(v visit, row string, values []value, note string) error {
	for _, x := range values {
		if err := b.out.add(record{
			Round: v.round, Net: v.net.name, Kind: v.kind.name, Row: row, Metric: x.metric, Value: x.value, Disturbed: note,
		}); err != nil {
			return err
		}
	}
	return nil
}

// row measures the metrics of one table row.
func (b *bench) row(s *site, l *link, row string) ([]value, error) {
	switch row {
	case rowTCP1:
		return b.bulk(s, l, 1)
	case rowTCP8:
		return b.bulk(s, l, 8)
	case rowVXLAN:
		return b.bulkInVXLAN(s, l)
	case rowUDP64:
		rate, err := udpRate(s, l, b.blastTime())
		return []value{{kpps, rate / 1000}}, err
	case rowPing:
		p, err := pings(s, l, b.seconds)
		return percentiles(p), err
	case rowRTT:
		p, err := sockperf.Requests(s.b, s.a, l.to, time.Duration(b.seconds)*time.Second)
		return percentiles(p), err
	case rowRTTLoad:
		return b.requestsBesideBulk(s, l)
	case rowWebsearch, rowBatch, rowIncast2M, rowIncast64K:
		return b.strain(s, l, row)
	case rowFlow1, rowFlow8, rowFetch, rowAsk:
		return b.cloud(s, l, row)
	case rowPingpong, rowBandwidth, rowMiddle, rowShort, rowRate, rowWrite, rowRead, rowTagged, rowIncast, rowMany:
		return b.messages(s, l, row)
	}
	return nil, fmt.Errorf("no row is called %q", row)
}

func percentiles(p sockperf.Percentiles) []value { return []value{{p50us, p.P50}, {p99us, p.P99}} }

// In a search, which tries about twelve rates, each rate is tried for 1/blastShare of the measuring
// time.
const blastShare = 5

// leastBlast is the shortest duration of a blast. It is long enough for a thousand bursts of
// datagrams.
const leastBlast = 200 * time.Millisecond

func (b *bench) blastTime() time.Duration {
	return max(leastBlast, time.Duration(b.seconds)*time.Second/blastShare)
}

// bulk measures TCP flows and returns goodput, processor time and memory.
func (b *bench) bulk(s *site, l *link, streams int) ([]value, error) {
	r, err := startLoad(s, l, streams, b.seconds)
	if err != nil {
		return nil, err
	}
	peak := rssPeak(l.pids)
	received, seconds, cpu, err := r.finish()
	mib, memErr := peak()
	if err := firstError(err, memErr); err != nil {
		return nil, err
	}
	values := []value{{gbps, received * 8e-9 / seconds}, {cpuPerGB, cpu / (received * 1e-9)}}
	if len(l.pids) > 0 {
		values = append(values, value{rssMiB, mib})
	}
	return values, nil
}

// rampUp is how long a bulk flow runs before the first request, so that it has filled the queues.
const rampUp = time.Second

// requestsBesideBulk measures requests next to one TCP flow, which starts before the requests and
// ends after them.
func (b *bench) requestsBesideBulk(s *site, l *link) ([]value, error) {
	r, err := startLoad(s, l, 1, b.seconds+int(loadSlack.Seconds()))
	if err != nil {
		return nil, err
	}
	defer r.stop()
	time.Sleep(rampUp)
	bytes, err := received(s, l)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	p, err := sockperf.Requests(s.b, s.a, l.to, time.Duration(b.seconds)*time.Second)
	if err != nil {
		return nil, err
	}
	took := time.Since(begun).Seconds()
	after, err := received(s, l)
	return append(percentiles(p), value{gbps, (after - bytes) * 8e-9 / took}), err
}

// machine returns the processor's model and the number of processors.
func machine() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // an error only leaves out the model
	model, processors := "unknown processor", 0
	for line := range strings.Lines(string(text)) {
		name, v, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(name) {
		case "processor":
			processors++
		case "model name":
			model = strings.TrimSpace(v)
		}
	}
	return fmt.Sprintf("%d x %s", processors, model)
}

// kernel returns the kernel's release, as uname -r prints it.
func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}
