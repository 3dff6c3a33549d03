package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/seq"
	"github.com/srdtun/srdtun/srd/mono"
)

// owedFor is how long ago a packet may have come for it to be acknowledged by the next
// process: what its sender still waits to hear of. That tells it at once where we are.
const owedFor = time.Second

// suspend notes what has arrived.
func (rv *receiver) suspend(now mono.Time, st *State) {
	for _, in := range rv.in {
		if in == nil || in.seen.Next() == 0 {
			continue
		}
		st.in = append(st.in, inState{
			slot: uint64(in.slot), next: in.seen.Next(), told: min(in.told[1], in.seen.Next()), ce: uint64(in.ce), latest: in.seen.Latest(), at: in.at,
			owed: in.slot != candidateSlot && (in.queued || now.Sub(in.at) < owedFor),
		})
	}
	var words [aboveMost]uint64
	n := rv.inbox.Words(words[:])
	st.above = append(st.above, words[:n]...)
}

// resume takes over what has come, so that it is taken no second time, and owes
// acknowledgements of what came lately.
func (rv *receiver) resume(now mono.Time, st *State) {
	for i := range st.in {
		v := &st.in[i]
		in := &inPath{slot: uint16(v.slot), told: [2]uint64{v.told, v.told}, at: min(now, v.at), ce: uint32(v.ce)}
		in.seen.Resume(v.next, v.latest)
		rv.in[v.slot] = in
		if v.owed && v.slot != candidateSlot {
			in.queued = true
			rv.pending = append(rv.pending, in)
			rv.ack.arrived(now, now, 0, true, rv.rtt.Smoothed(), &rv.hosts)
		}
	}
	rv.inbox = seq.Window{}
	rv.inbox.Resume(st.missing, st.above)
}
