package queue

import "github.com/srdtun/srdtun/overlay/frame"

// keepFlows is the number of flow slots up to which idle slots are not reused. With fewer than
// keepFlows flows, an idle flow keeps its CoDel state, and later resumes its drop rate.
const keepFlows = 32

// These constants are the lists that a flow may be in.
const (
	listIdle uint8 = iota
	listFresh
	listServed
)

// ways is the number of buckets in a set, so up to eight flows that hash to a set have buckets of
// their own. A ninth busy flow of the set shares the bucket of another one. With 128 sets, the
// probability of a shared bucket is 1 in 70,000 for 100 busy flows, and 1 in 36 for 256 flows.
const ways = 8

// flow is the state of one flow that has frames in the queue, or recently had some.
type flow struct {
	head, tail int32 // indexes of nodes; 0 means none
	next, prev int32 // slots of neighbours in the list; 0 means none
	bucket     uint32
	hash       uint32
	in         uint8
	foreign    int // number of its frames that belong to flows with another hash
	bytes      int
	supers     int // number of super-frames among its frames
	deficit    int // bytes that it may still send in this round; negative: bytes sent in advance
	codel      codel
	steady     steady
	period     uint32  // period of type active in which it was last served
	sent       float64 // bytes that left the queue in that period
}

// list is a doubly linked list of flow slots; 0 means none.
type list struct{ head, tail int32 }

// table maps buckets to flow slots. Slot 0 of the table is unused. The zero value is an empty
// table without memory.
type table struct {
	slots []int32 // slot of each bucket; 0 means none
	flows []flow
	idle  list // slots of idle flows, longest idle first
}

// flowOf returns the slot of the flow with the given hash, and assigns one if needed. The buckets
// form sets of eight, and a flow may use any bucket of its set. CAKE uses the same 8-way
// set-associative hash (Høiland-Jørgensen et al., LANMAN 2018, section III-C). If a flow could use
// only one bucket, two of 16 flows would share one of 1,024 buckets in one of nine transfers. Both
// flows would then have half the rate of the others throughout the transfer.
func (q *Queue) flowOf(hash uint32) int32 {
	t := &q.table
	if t.slots == nil {
		t.slots = make([]int32, q.cfg.Flows)
		t.flows = make([]flow, 1, 4)
	}
	first, set := t.set(hash)
	way := -1 // the bucket that this flow may take
	for i, slot := range set {
		switch {
		case slot == 0:
			if way < 0 || set[way] != 0 {
				way = i
			}
		case t.flows[slot].hash == hash:
			return slot
		case way < 0 && t.flows[slot].in == listIdle:
			way = i
		}
	}
	// A flow that found no free bucket may have frames in another flow's bucket. If the flow now
	// got its own bucket, its new frames would overtake its older frames in the other bucket.
	if slot := set[hash%uint32(len(set))]; slot != 0 && (way < 0 || t.flows[slot].foreign > 0) {
		return slot
	}
	if set[way] == 0 {
		set[way] = t.newSlot()
	}
	slot := set[way]
	t.flows[slot].take(first+uint32(way), hash)
	return slot
}

// set returns the set of buckets for a hash, and the index of its first bucket.
func (t *table) set(hash uint32) (first uint32, set []int32) {
	n := min(ways, len(t.slots))
	first = uint32(uint64(hash)*uint64(len(t.slots)/n)>>32) * uint32(n)
	return first, t.slots[first : int(first)+n]
}

// take assigns the slot of an idle flow to a new flow, and resets the slot's state.
func (fl *flow) take(bucket, hash uint32) {
	fl.bucket, fl.hash, fl.codel, fl.steady = bucket, hash, codel{}, steady{}
}

// newSlot returns a free slot: the longest idle one, or a new one.
func (t *table) newSlot() int32 {
	slot := t.idle.head
	if slot != 0 && len(t.flows) > keepFlows {
		t.slots[t.flows[slot].bucket] = 0
		return slot
	}
	t.flows = append(t.flows, flow{})
	slot = int32(len(t.flows) - 1)
	t.append(slot, &t.idle, listIdle)
	return slot
}

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

type node struct {
	f    *frame.Frame
	next int32
}

// nodes stores the FIFO entries of all flows. The slice grows to the largest number of entries ever
// needed at the same time, at most the queue's limit in frames. Node 0 is unused.
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
