package queue

import "github.com/srdtun/srdtun/overlay/frame"

// keepFlows is how many flow slots there are before an idle one is used for
// another bucket. Until then an idle flow keeps its CoDel state, which lets it
// take up its drop rate where it left it.
const keepFlows = 32

// Which list a flow is in.
const (
	listIdle uint8 = iota
	listFresh
	listServed
)

// flow is the state of one hash bucket that holds frames or did lately.
type flow struct {
	head, tail int32 // nodes; 0 is none
	next, prev int32 // flows in the list; 0 is none
	bucket     uint32
	in         uint8
	bytes      int
	deficit    int // bytes that it may still send in this round; negative is debt
	codel      codel
}

// list is a doubly linked list of flows, by slot; 0 is none.
type list struct{ head, tail int32 }

// table maps buckets to flow slots. Slot 0 is not used. The zero value is
// empty and has no memory.
type table struct {
	slots []int32 // by bucket; 0 is none
	flows []flow
	idle  list // the longest idle first
}

// flowOf returns the slot of the flow with this hash, a new one if need be.
func (q *Queue) flowOf(hash uint32) int32 {
	t := &q.table
	if t.slots == nil {
		t.slots = make([]int32, q.cfg.Flows)
		t.flows = make([]flow, 1, 4)
	}
	bucket := uint32(uint64(hash) * uint64(len(t.slots)) >> 32)
	slot := t.slots[bucket]
	if slot == 0 {
		slot = t.newSlot()
		t.flows[slot].bucket = bucket
		t.slots[bucket] = slot
	}
	return slot
}

// newSlot returns a slot in the idle list: the longest idle or a fresh one.
func (t *table) newSlot() int32 {
	slot := t.idle.head
	if slot != 0 && len(t.flows) > keepFlows {
		fl := &t.flows[slot]
		t.slots[fl.bucket] = 0
		fl.codel = codel{}
		return slot
	}
	t.flows = append(t.flows, flow{})
	slot = int32(len(t.flows) - 1)
	t.append(slot, &t.idle, listIdle)
	return slot
}

// move takes a flow out of one list and puts it at the end of another.
func (t *table) move(slot int32, from, to *list, in uint8) {
	fl := &t.flows[slot]
	if fl.prev != 0 {
		t.flows[fl.prev].next = fl.next
	} else {
		from.head = fl.next
	}
	if fl.next != 0 {
		t.flows[fl.next].prev = fl.prev
	} else {
		from.tail = fl.prev
	}
	t.append(slot, to, in)
}

func (t *table) append(slot int32, to *list, in uint8) {
	fl := &t.flows[slot]
	fl.in, fl.prev, fl.next = in, to.tail, 0
	if to.tail != 0 {
		t.flows[to.tail].next = slot
	} else {
		to.head = slot
	}
	to.tail = slot
}

// node is a place in a flow's FIFO.
type node struct {
	f    *frame.Frame
	next int32
}

// nodes is the store of all places, which grows to the most that were ever
// needed at once and so to the queue's limit in frames. Node 0 is not used.
type nodes struct {
	all  []node
	free int32
}

func (ns *nodes) get(f *frame.Frame) int32 {
	if ns.all == nil {
		ns.all = make([]node, 1, 16)
	}
	n := ns.free
	if n == 0 {
		ns.all = append(ns.all, node{f: f})
		return int32(len(ns.all) - 1)
	}
	ns.free = ns.all[n].next
	ns.all[n] = node{f: f}
	return n
}

func (ns *nodes) put(n int32) *frame.Frame {
	f := ns.all[n].f
	ns.all[n] = node{next: ns.free}
	ns.free = n
	return f
}
