package msg

import (
	"testing"

	"github.com/srdtun/srdtun/srd/ep"
)

// Matching a message with a receive, and ordering messages, allocate no memory.
func TestMatchingTakesNoMemory(t *testing.T) {
	p := &pair{key: ep.PublicKey{1}}
	r, x := &receive{match: Match{Tag: 5}}, &message{pair: p, head: head{tag: 5, ordered: true, epoch: 1}}
	var m matcher
	m.posted = make([]*receive, 0, 8)
	seq := uint32(0)
	if n := testing.AllocsPerRun(1000, func() {
		m.posted = append(m.posted, r)
		run, ok := p.in.admit(1, seq, seq, x)
		if seq++; !ok || len(run) != 1 || m.arrive(run[0], nil) != r {
			t.Fatal("it is not matched")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
