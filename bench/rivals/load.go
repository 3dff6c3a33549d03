package rivals

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
)

// loadPort is the port of iperf3, and loadSlack is how long iperf3 may take beyond its set
// time.
const (
	loadPort  = "5201"
	loadSlack = 20 * time.Second
)

// load is a running iperf3 client and server, from A to B over TCP.
type load struct {
	server, client *fabric.Process
	report         bytes.Buffer // of the client, with the bytes that the server received
	seconds        int
	before         meter.CPUTime // processor time when the client started
}

func startLoad(s *site, l *link, streams, seconds int) (*load, error) {
	r := &load{seconds: seconds}
	command := func(args ...string) (string, []string) {
		all := append(append([]string{}, l.wrap...), "iperf3")
		all = append(all, args...)
		return all[0], all[1:]
	}
	name, args := command("-s", "-1", "-i", "0", "-p", loadPort)
	var err error
	if r.server, err = s.b.Start(name, args...); err != nil {
		return nil, err
	}
	if err = meter.AwaitListener(s.b.Namespace, r.server, loadPort); err == nil {
		r.before, err = meter.ReadCPU()
	}
	if err == nil {
		name, args = command("-c", l.to.String(), "-p", loadPort, "-t", strconv.Itoa(seconds), "-P", strconv.Itoa(streams), "-i", "0", "-J")
		r.client, err = s.a.StartWith(&r.report, nil, name, args...)
	}
	if err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

// stop ends the load early.
func (r *load) stop() {
	if r.client != nil {
		r.client.Kill()
	}
	r.server.Kill()
}

// finish waits for the end of the load. It returns the bytes that reached host B, the duration in
// seconds, and the processor time of the whole machine in that time, in seconds.
func (r *load) finish() (received, seconds, cpu float64, err error) {
	err = r.client.Wait(time.Duration(r.seconds)*time.Second + loadSlack)
	after, cpuErr := meter.ReadCPU()
	r.server.Kill()
	received, seconds, parseErr := parseLoad(r.report.Bytes())
	if err := errors.Join(err, parseErr, cpuErr); err != nil {
		return 0, 0, 0, fmt.Errorf("iperf3: %w: %s", err, strings.TrimSpace(r.client.Log.String()))
	}
	return received, seconds, after.Since(r.before).Busy, nil
}

// received returns how many bytes host B has received from the link so far.
func received(s *site, l *link) (float64, error) {
	text, err := s.b.Run("cat", "/sys/class/net/"+l.dev+"/statistics/rx_bytes")
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(text), 64)
}

// parseLoad parses the report of iperf3 -J.
func parseLoad(report []byte) (received, seconds float64, err error) {
	var r struct {
		End struct {
			Received struct {
				Bytes   float64 `json:"bytes"`
				Seconds float64 `json:"seconds"`
			} `json:"sum_received"`
		} `json:"end"`
		Error string `json:"error"`
	}
	// Messages of mptcpize or of a resolver may precede the report.
	if i := bytes.IndexByte(report, '{'); i > 0 {
		report = report[i:]
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return 0, 0, err
	}
	if r.Error != "" {
		return 0, 0, errors.New(r.Error)
	}
	if r.End.Received.Bytes <= 0 || r.End.Received.Seconds <= 0 {
		return 0, 0, errors.New("nothing was received")
	}
	return r.End.Received.Bytes, r.End.Received.Seconds, nil
}
