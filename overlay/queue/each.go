package queue

import "github.com/srdtun/srdtun/overlay/frame"

// EachFlow calls f for each waiting flow, with its first frame and its bytes. Flows in
// the same bucket count as one.
func (q *Queue) EachFlow(f func(first *frame.Frame, bytes int)) {
	for i := range q.table.flows {
		if fl := &q.table.flows[i]; fl.head != 0 {
			f(q.nodes.all[fl.head].f, fl.bytes)
		}
	}
}
