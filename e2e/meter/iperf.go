package meter

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// sampleEvery is the length of an iperf3 interval, the shortest that iperf3 supports.
const sampleEvery = 100 * time.Millisecond

// endSlack is the time that iperf3 may need in addition to its set duration, to connect and to
// end.
const endSlack = 20 * time.Second

// iperfPort is the port of an iperf3 server; most servers run in separate namespaces.
const iperfPort = "5201"

// Flow describes a run of iperf3.
type Flow struct {
	Server, Client *fabric.Host
	To             netip.Addr // the server's address, plain or inside the tunnel
	Streams        int        // 0 means 1
	For            time.Duration
	Port           string // port of the server; "" means iperfPort
	// OnInterval, unless nil, is called with each new interval for the sum of all streams.
	OnInterval func(Interval)
}

// Run is a running or finished iperf3 measurement.
type Run struct {
	flow           Flow
	server, client *fabric.Process
	parsed         chan struct{}

	mu      sync.Mutex
	sum     Series
	streams map[string]Series
	began   time.Time // estimate: the earliest of (arrival of a report - its end)
}

// Start starts an iperf3 server and client, and returns once the client runs. A Run counts the
// bytes that arrive at the server.
func Start(f Flow) (*Run, error) {
	f.Streams, f.Port = max(f.Streams, 1), cmp.Or(f.Port, iperfPort)
	r := &Run{flow: f, streams: map[string]Series{}, parsed: make(chan struct{})}
	pr, pw := io.Pipe()
	var err error
	r.server, err = f.Server.StartWith(pw, nil, "iperf3", "-s", "-1", "-p", f.Port, "-i", "0.1", "-f", "k", "--forceflush")
	if err != nil {
		return nil, err
	}
	go r.read(pr)
	go func() { <-r.server.Done(); pw.Close() }()
	if err := AwaitListener(f.Server.Namespace, r.server, f.Port); err != nil {
		r.Stop()
		return nil, err
	}
	r.client, err = f.Client.Start("iperf3", "-c", f.To.String(), "-p", f.Port, "-i", "0",
		"-t", strconv.FormatFloat(f.For.Seconds(), 'f', -1, 64), "-P", strconv.Itoa(f.Streams))
	if err != nil {
		r.Stop()
	}
	return r, err
}

func awaitListener(n *fabric.Namespace, p *fabric.Process) error {
	return AwaitListener(n, p, iperfPort)
}

// AwaitListener waits until a process in the namespace listens on the TCP port. If the process p
// ends before it listens, AwaitListener returns an error.
func AwaitListener(n *fabric.Namespace, p *fabric.Process, port string) error {
	for deadline := time.Now().Add(5 * time.Second); ; {
		out, err := n.Run("ss", "-Hltn", "sport = :"+port)
		if err == nil && strings.TrimSpace(out) != "" {
			return nil
		}
		select {
		case <-p.Done():
			return fmt.Errorf("the server for port %s ended: %s", port, p.Log.String())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("nothing listens on port %s", port)
		}
	}
}

// Wait waits for the end of the run, and returns the client's error, for example a reset
// connection. Intervals measured before an error are kept. If a run does not end in time, Wait
// kills it, and returns an error with the connections of both ends.
func (r *Run) Wait() error {
	var err error
	select {
	case <-r.client.Done():
		err = r.client.Wait(endSlack) // returns immediately, because the client has ended
	case <-time.After(r.flow.For + endSlack):
		stuck := r.connections()
		r.client.Kill()
		err = fmt.Errorf("does not end: %s", stuck)
	}
	if err != nil {
		err = fmt.Errorf("iperf3: %w: %s", err, strings.TrimSpace(r.client.Log.String()))
	}
	// An iperf3 server without its client may wait for ever, so it is killed.
	select {
	case <-r.server.Done():
	case <-time.After(time.Second):
		r.server.Kill()
	}
	<-r.parsed
	return err
}

// connections describes the TCP connections and programs of both ends.
func (r *Run) connections() string {
	var b strings.Builder
	for _, end := range []struct {
		h *fabric.Host
		p *fabric.Process
	}{{r.flow.Client, r.client}, {r.flow.Server, r.server}} {
		out, err := end.h.Run("ss", "-Htnoi", "sport = :"+r.flow.Port+" or dport = :"+r.flow.Port)
		call, _ := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", end.p.Pid()))
		fmt.Fprintf(&b, "%s, system call %s%s (%v)\n", end.h.Name, call, out, err)
	}
	return b.String()
}

// Stop ends the run before its set duration.
func (r *Run) Stop() {
	if r.client != nil {
		r.client.Kill()
	}
	r.server.Kill()
	<-r.parsed
}

// Elapsed returns the time since the start of the run, on the time axis of its Series. Before the
// first report, Elapsed returns 0.
func (r *Run) Elapsed() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.began.IsZero() {
		return 0
	}
	return time.Since(r.began)
}

// Sum returns the intervals so far, for the sum of all streams.
func (r *Run) Sum() Series {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(Series(nil), r.sum...)
}

// Streams returns the intervals so far for each stream.
func (r *Run) Streams() []Series {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Series
	for _, s := range r.streams {
		all = append(all, append(Series(nil), s...))
	}
	return all
}

// read parses the iperf3 server's report line by line.
func (r *Run) read(report io.Reader) {
	defer close(r.parsed)
	lines := bufio.NewScanner(report)
	for lines.Scan() {
		id, v, ok := parseInterval(lines.Text())
		if !ok {
			continue
		}
		isSum := id == "SUM" || r.flow.Streams == 1
		r.mu.Lock()
		if began := time.Now().Add(-v.End); r.began.IsZero() || began.Before(r.began) {
			r.began = began
		}
		if id != "SUM" {
			r.streams[id] = append(r.streams[id], v)
		}
		if isSum {
			r.sum = append(r.sum, v)
		}
		r.mu.Unlock()
		if isSum && r.flow.OnInterval != nil {
			r.flow.OnInterval(v)
		}
	}
	_, _ = io.Copy(io.Discard, report)
}

// parseInterval parses a line of an iperf3 report, for example this line:
//
//	[  5]   0.10-0.20   sec  1.12 MBytes  94371 Kbits/sec
//
// For any other line, parseInterval returns false. Lines with totals of the whole run do not
// match.
func parseInterval(line string) (id string, v Interval, ok bool) {
	name, rest, found := strings.Cut(strings.TrimPrefix(line, "["), "]")
	f := strings.Fields(rest)
	if !found || len(f) < 6 || f[1] != "sec" || f[5] != "Kbits/sec" && f[5] != "bits/sec" {
		return "", v, false
	}
	from, to, found := strings.Cut(f[0], "-")
	a, err1 := strconv.ParseFloat(from, 64)
	b, err2 := strconv.ParseFloat(to, 64)
	rate, err3 := strconv.ParseFloat(f[4], 64)
	if !found || err1 != nil || err2 != nil || err3 != nil || b <= a || f[len(f)-1] == "receiver" || f[len(f)-1] == "sender" {
		return "", v, false
	}
	if f[5] == "Kbits/sec" {
		rate *= 1000
	}
	seconds := func(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }
	return strings.TrimSpace(name), Interval{seconds(a), seconds(b), rate}, true
}

// Totals is the end of an iperf3 client's report, as bit rates at the receivers.
type Totals struct {
	Forward, Reverse float64
	LostPercent      float64 // of UDP
}

// Iperf runs iperf3 with extra options (--bidir, -u, ...), and returns the totals after its end.
func Iperf(server, client *fabric.Host, to netip.Addr, extra ...string) (t Totals, err error) {
	s, err := server.Start("iperf3", "-s", "-1", "-p", iperfPort)
	if err != nil {
		return t, err
	}
	defer s.Kill()
	if err := awaitListener(server.Namespace, s); err != nil {
		return t, err
	}
	out, err := client.Run("timeout", append([]string{"60", "iperf3", "-c", to.String(), "-p", iperfPort, "-J"}, extra...)...)
	type total struct {
		BitsPerSecond float64 `json:"bits_per_second"`
		LostPercent   float64 `json:"lost_percent"`
		Bytes         float64 `json:"bytes"`
	}
	var report struct {
		End struct {
			Sum                     total `json:"sum"`
			SumReceived             total `json:"sum_received"`
			SumReceivedBidirReverse total `json:"sum_received_bidir_reverse"`
		} `json:"end"`
		Error string `json:"error"`
	}
	if jsonErr := json.Unmarshal([]byte(out), &report); err != nil || jsonErr != nil || report.Error != "" {
		return t, fmt.Errorf("iperf3 %v: %s: %w", extra, report.Error, errors.Join(err, jsonErr))
	}
	t = Totals{report.End.SumReceived.BitsPerSecond, report.End.SumReceivedBidirReverse.BitsPerSecond, report.End.Sum.LostPercent}
	if t.Forward == 0 && report.End.Sum.Bytes > 0 {
		// UDP reports of older versions have only the sender's sum and the share of lost
		// datagrams.
		t.Forward = report.End.Sum.BitsPerSecond * (1 - t.LostPercent/100)
	}
	return t, nil
}
