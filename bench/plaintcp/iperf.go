package plaintcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
)

const (
	interval = "0.25"
	// segment is the payload in bytes of a full TCP segment on Ethernet. Inside a tunnel the
	// payload of a full segment is a little smaller.
	segment = 1448
)

// load is one iperf3 run.
type load struct {
	client  *fabric.Host
	server  *fabric.Process
	command []string
	done    chan struct{}
	out     string
	err     error
}

// report is the JSON report of one iperf3 process.
type report struct {
	Error     string
	Intervals []struct {
		Streams []struct {
			Bytes       float64
			Seconds     float64
			Retransmits int
			SndCwnd     int `json:"snd_cwnd"`
		}
	}
	Server *report `json:"server_output_json"`
}

// serve starts an iperf3 server on b for the given number of flows from a.
func serve(a, b *fabric.Host, to netip.Addr, port, flows int, lasts time.Duration) (*load, error) {
	at := strconv.Itoa(port)
	p, err := b.Start("iperf3", "-s", "-1", "-J", "-i", interval, "-p", at)
	if err != nil {
		return nil, err
	}
	if err := meter.AwaitListener(b.Namespace, p, at); err != nil {
		p.Kill()
		return nil, err
	}
	return &load{client: a, server: p, done: make(chan struct{}), command: []string{"-c", to.String(), "-p", at, "-J", "-i", interval,
		"--get-server-output", "-P", strconv.Itoa(flows), "-t", strconv.FormatFloat(lasts.Seconds(), 'f', -1, 64)}}, nil
}

func (l *load) begin() {
	go func() {
		defer close(l.done)
		l.out, l.err = l.client.Run("iperf3", l.command...)
	}()
}

// end waits until iperf3 has ended, and returns its report.
func (l *load) end() (*report, error) {
	<-l.done
	r := &report{}
	from := strings.IndexByte(l.out, '{')
	if from < 0 {
		return nil, fmt.Errorf("iperf3: %w: %s", l.err, l.out)
	}
	if err := json.NewDecoder(strings.NewReader(l.out[from:])).Decode(r); err != nil {
		return nil, err
	}
	if r.Error != "" || r.Server == nil {
		return nil, fmt.Errorf("iperf3: %s", r.Error)
	}
	return r, nil
}

// write writes the results of a group of flows. The last interval is left out if it is shorter than
// the others.
func (r *report) write(w io.Writer, name string) {
	whole, _ := strconv.ParseFloat(interval, 64)
	var mbit, cwnd, flows []string
	var each []float64
	var seconds float64
	resent := 0
	for _, v := range r.Server.Intervals {
		if v.Streams[0].Seconds < whole/2 {
			continue
		}
		sum := 0.0
		if each == nil {
			each = make([]float64, len(v.Streams))
		}
		for i, s := range v.Streams {
			sum += s.Bytes
			each[i] += s.Bytes
		}
		seconds += v.Streams[0].Seconds
		mbit = append(mbit, strconv.FormatFloat(sum*8/1e6/v.Streams[0].Seconds, 'f', 1, 64))
	}
	for _, v := range r.Intervals {
		cwnd = append(cwnd, strconv.Itoa(v.Streams[0].SndCwnd/segment))
		for _, s := range v.Streams {
			resent += s.Retransmits
		}
	}
	for _, n := range each {
		flows = append(flows, strconv.FormatFloat(n*8/1e6/seconds, 'f', 1, 64))
	}
	fmt.Fprintf(w, "%s mbit %s\n%s cwnd %s\n%s flows %s\n%s resent %d\n", name, strings.Join(mbit, " "), name, strings.Join(cwnd, " "),
		name, strings.Join(flows, " "), name, resent)
}
