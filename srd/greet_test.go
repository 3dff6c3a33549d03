package srd_test

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// greeter returns a pair in which side 0 greets a peer that cannot be reached.
func greeter(t *testing.T) *pair {
	dead := [2]bool{true, true}
	p := newPair(t, 1, &link{dead: dead}, &link{dead: dead})
	h := p.host[0]
	h.conn.SetTuples(p.now, p.tuples(0))
	h.conn.Greet(p.now)
	h.service()
	return p
}

// initiations returns how many initiations side 0 has sent. The copies of one initiation on
// both links count as one.
func (p *pair) initiations() int { return p.links[0].sent[0] }

// A greeting without a response ends soon, and the Conn then has no deadline.
func TestGreetingEnds(t *testing.T) {
	p := greeter(t)
	p.run(10*time.Minute, never)
	if n := p.initiations(); n < 2 || n > 4 {
		t.Errorf("%d initiations", n)
	}
	if at, why := p.host[0].conn.Deadline(); at != mono.Never {
		t.Errorf("wants to be woken at %v for %q", at, why)
	}
}

// With a message to send, the attempts continue as in any handshake, whether the message
// was queued during the greeting or after it.
func TestGreetingWithTraffic(t *testing.T) {
	for _, wait := range []time.Duration{time.Second, time.Minute} {
		p := greeter(t)
		p.run(wait, never)
		p.host[0].conn.Connect(p.now)
		p.host[0].service()
		p.run(10*time.Minute, never)
		if n := p.initiations(); n < 20 {
			t.Errorf("%d initiations with traffic after %v", n, wait)
		}
	}
}

// A greeting leads to a session, and the session's keys are renewed as usual.
func TestGreetingMeets(t *testing.T) {
	p := newPair(t, 1, &link{delay: time.Millisecond})
	h := p.host[0]
	h.conn.SetTuples(p.now, p.tuples(0))
	h.conn.Greet(p.now)
	h.service()
	p.run(5*time.Second, never)
	if !h.conn.Session(p.now).Ready {
		t.Fatal("no session")
	}
	if v := h.conn.Paths(); len(v) != 1 || v[0].State != srd.PathActive {
		t.Fatalf("%+v", v)
	}
	h.conn.Greet(p.now)
	if h.service(); h.conn.Stats().Handshakes != 1 {
		t.Errorf("%d handshakes", h.conn.Stats().Handshakes)
	}
}
