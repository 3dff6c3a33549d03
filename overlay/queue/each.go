package queue

import "github.com/srdtun/srdtun/overlay/frame"

// EachFlow calls f with the first frame that waits of every flow here, and the bytes that
// wait in all of it. Flows that share a place count as one.
func (q *Queue) EachFlow(f func(first *frame.Frame, bytes int)) {
	for i := range q.table.flows {
		if fl := &q.table.flows[i]; fl.head != 0 {
			f(q.nodes.all[fl.head].f, fl.bytes)
		}
	}
}
