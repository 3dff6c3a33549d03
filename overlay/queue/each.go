package queue

import "github.com/srdtun/srdtun/overlay/frame"

// EachFlow calls f for each flow in the queue, with its first frame and its number of bytes.
// Flows in the same bucket count as one flow.
func (q *Queue) EachFlow(f func(first *frame.Frame, bytes int)) {
	for i := range q.table.flows {
		if fl := &q.table.flows[i]; fl.head != 0 {
			f(q.nodes.all[fl.head].f, fl.bytes)
		}
	}
}
