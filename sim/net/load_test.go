package net

import "testing"

// A packet carries the load of the busiest link on its way, plus one. Only links with
// Quality.Tell count.
func TestLinkTells(t *testing.T) {
	e := NewEngine(1, nil)
	a := &arrivals{e: e}
	const rate = 1.25e9
	last := e.NewLink("last", Quality{Rate: rate, Queue: 1 << 30, Tell: true}, a)
	quiet := e.NewLink("quiet", Quality{Rate: rate, Queue: 1 << 30}, last)
	first := e.NewLink("first", Quality{Rate: rate / 8, Queue: 1 << 30, Tell: true}, quiet)
	one := func(l *Link) uint8 {
		l.Receive(numbered(1))
		e.Run(1e9, nil)
		return a.packets[len(a.packets)-1].Load
	}
	if got := one(last); got != 1 {
		t.Errorf("after an idle link that tells the load is %d, want 1", got)
	}
	for range 200 {
		first.Receive(numbered(1))
	}
	e.Run(1e9, nil)
	if got := a.packets[len(a.packets)-1].Load; got != 8 {
		t.Errorf("after a link that was full and an idle one the load is %d, want 8", got)
	}
	silent := e.NewLink("silent", Quality{Rate: rate}, a)
	if got := one(silent); got != 0 {
		t.Errorf("after a link that does not tell the load is %d, want 0", got)
	}
}
