package rivals

import (
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/lab/workload"
)

const (
	strainPort = 5201
	// flowWait bounds the time until the last flows end, because plain TCP on a slow path takes
	// tens of seconds.
	flowWait = 90 * time.Second
	// burstPause lets queues drain between two bursts.
	burstPause = 500 * time.Millisecond
)

var errFlows = errors.New("flows do not end")

// connect opens a connection over the link, with TCP or MPTCP as the link requires.
func connect(h *fabric.Host, l *link) (net.Conn, error) {
	return meter.Connect(h, netip.AddrPortFrom(l.to, strainPort), l.wrap != nil, flowWait)
}

// playBursts sends bursts over existing connections, and returns the time of each transfer.
func playBursts(s *site, l *link, x burst) (took []time.Duration, err error) {
	each := len(s.senders()) * x.flows
	sink, err := meter.NewSink(strainPort, each*x.rounds, s.b)
	if err != nil {
		return nil, err
	}
	defer sink.Close()
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for range x.flows {
		for _, h := range s.senders() {
			c, err := connect(h, l)
			if err != nil {
				return nil, err
			}
			conns = append(conns, c)
		}
	}
	for round := range x.rounds {
		time.Sleep(burstPause)
		began := time.Now()
		for i, c := range conns {
			go meter.Send(c, round*each+i, x.size)
		}
		if !sink.Wait(each, flowWait) {
			return nil, errFlows
		}
		for i := range each {
			took = append(took, sink.Ended(round*each+i).Sub(began))
		}
	}
	return took, nil
}

// playFlows sends each flow over its own connection, and returns the duration of each flow.
func playFlows(s *site, l *link, flows []workload.Flow) (took []time.Duration, err error) {
	sink, err := meter.NewSink(strainPort, len(flows), s.b)
	if err != nil {
		return nil, err
	}
	defer sink.Close()
	began := make([]time.Time, len(flows))
	zero := time.Now()
	for i, f := range flows {
		time.Sleep(time.Until(zero.Add(f.Start)))
		began[i] = time.Now()
		go func() {
			c, err := connect(s.a, l)
			if err != nil {
				return
			}
			defer c.Close()
			meter.Send(c, i, f.Size)
		}()
	}
	if !sink.Wait(len(flows), flowWait) {
		return nil, errFlows
	}
	for i := range flows {
		took = append(took, sink.Ended(i).Sub(began[i]))
	}
	return took, nil
}
