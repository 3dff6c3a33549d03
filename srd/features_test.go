package srd_test

import (
	"testing"
	"time"
)

// Each end knows the features of the other, whichever end called. After a restart it knows
// only the features that the new process announced.
func TestFeatures(t *testing.T) {
	p := newPair(t, 1, links(2)...)
	for side, features := range []uint8{1, 0x83} {
		p.host[side].features = features
		p.host[side].start()
	}
	if got := p.host[0].conn.Session(p.now).Features; got != 0 {
		t.Errorf("%#x before anything was said", got)
	}
	p.connect()
	if a, b := p.host[0].conn.Session(p.now).Features, p.host[1].conn.Session(p.now).Features; a != 0x83 || b != 1 {
		t.Errorf("the other end reads %#x and %#x", a, b)
	}
	p.host[0].features = 0 // another version of the program
	p.host[0].restart()
	p.host[0].service()
	p.run(3*time.Second, func() bool { return p.host[0].conn.Session(p.now).Ready && p.host[1].conn.Session(p.now).Features == 0 })
	if a, b := p.host[0].conn.Session(p.now).Features, p.host[1].conn.Session(p.now).Features; a != 0x83 || b != 0 {
		t.Errorf("after a restart the other end reads %#x and %#x", a, b)
	}
}
