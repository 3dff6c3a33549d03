package net

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Start is the time at which every simulation starts. Start is not zero, because a zero time means
// "no time" in the transport.
const Start mono.Time = mono.Time(time.Second)

// Engine holds the virtual clock and the event queue. Events at the same time run in the order in
// which they were scheduled.
type Engine struct {
	now    mono.Time
	queue  []event
	serial uint64
	done   uint64
	seed   uint64
	forks  uint64
	hash   uint64
	trace  io.Writer
	names  []string
	spare  []*Packet
	places map[netip.Addr]int32
}

// place returns the number of an address. Switches keep their routes by these numbers, so only the
// first switch looks up the address of a packet.
func (e *Engine) place(a netip.Addr) int32 {
	n, ok := e.places[a]
	if !ok {
		if e.places == nil {
			e.places = map[netip.Addr]int32{}
		}
		n = int32(len(e.places))
		e.places[a] = n
	}
	return n
}

// event is either a function to call, or the arrival of a packet at a node. Most events are
// arrivals, which need no closure.
type event struct {
	at     mono.Time
	serial uint64
	f      func()
	to     Node
	packet *Packet
}

// before reports whether e comes before o in the event queue.
func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.serial < o.serial
}

// NewEngine returns an engine whose virtual time is Start. The engine writes each event that is
// passed to Note as a line to `trace`, which may be nil.
func NewEngine(seed uint64, trace io.Writer) *Engine {
	return &Engine{now: Start, seed: seed, hash: Mix(seed), trace: trace}
}

// Now returns the virtual time.
func (e *Engine) Now() mono.Time { return e.now }

// Since returns the virtual time since the start of the simulation.
func (e *Engine) Since() time.Duration { return e.now.Sub(Start) }

// Done returns the number of events that have run.
func (e *Engine) Done() uint64 { return e.done }

// Hash returns the digest of all events that were passed to Note so far.
func (e *Engine) Hash() uint64 { return e.hash }

// Fork returns a new random generator. Each part of a network has its own generator, so that a
// change of one part does not change the others.
func (e *Engine) Fork() *rand.Rand {
	e.forks++
	return rand.New(rand.NewPCG(e.seed, e.forks))
}

// Bytes returns a reader of random bytes from rng.
func Bytes(rng *rand.Rand) io.Reader { return reader{rng} }

type reader struct{ rng *rand.Rand }

func (r reader) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.rng.Uint32())
	}
	return len(b), nil
}

// At schedules the function f for the time t, or for the present time if t has passed.
func (e *Engine) At(t mono.Time, f func()) {
	e.push(event{at: t, f: f})
}

// Deliver schedules the arrival of p at the node `to` for the time t, or for the present time if
// t has passed.
func (e *Engine) Deliver(t mono.Time, to Node, p *Packet) {
	e.push(event{at: t, to: to, packet: p})
}

func (e *Engine) push(ev event) {
	e.serial++
	ev.at, ev.serial = max(ev.at, e.now), e.serial
	e.queue = append(e.queue, ev)
	e.up(len(e.queue)-1, &ev)
}

// After schedules the function f to run after the duration d.
func (e *Engine) After(d time.Duration, f func()) { e.At(e.now.Add(d), f) }

// Run advances virtual time until the function done() returns true or the duration d has passed.
// Run calls done() after each event, and reports whether it returned true. The argument `done`
// may be nil.
func (e *Engine) Run(d time.Duration, done func() bool) bool {
	end := e.now.Add(d)
	for len(e.queue) > 0 && e.queue[0].at <= end {
		ev := e.pop()
		e.now = ev.at
		e.done++
		if ev.f != nil {
			ev.f()
		} else {
			ev.to.Receive(ev.packet)
		}
		if done != nil && done() {
			return true
		}
	}
	e.now = end
	return false
}

// Noun identifies a named part of the network in notes.
type Noun int

// Name registers a name of a part of the network for use in notes.
func (e *Engine) Name(name string) Noun {
	e.names = append(e.names, name)
	return Noun(len(e.names) - 1)
}

// Note adds an event to the digest and the trace: a name, a verb, and up to three numbers. The verb
// determines the meaning of the numbers.
func (e *Engine) Note(who Noun, what string, a, b, c uint64) {
	h := e.hash
	for _, v := range [...]uint64{uint64(e.now), uint64(who), hashString(what), a, b, c} {
		h = Mix(h ^ v)
	}
	e.hash = h
	if e.trace != nil {
		fmt.Fprintf(e.trace, "%13.6f %-12s %-22s %d %d %d\n", e.Since().Seconds(), e.names[who], what, a, b, c)
	}
}

// Say writes a formatted line to the trace, but not to the digest.
func (e *Engine) Say(format string, args ...any) {
	if e.trace != nil {
		fmt.Fprintf(e.trace, "%13.6f %s\n", e.Since().Seconds(), fmt.Sprintf(format, args...))
	}
}

// Mix is the finaliser of the generator SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hashString returns the FNV-1a hash of a string.
func hashString(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// ways is the number of children of each element in the heap. With four children the heap has half
// as many levels as a binary heap, and needs fewer cache lines.
const ways = 4

// The functions up, pop and down maintain the heap property of the queue. These functions move a
// hole instead of swapping elements.
func (e *Engine) up(i int, ev *event) {
	q := e.queue
	for i > 0 {
		p := (i - 1) / ways
		if !ev.before(&q[p]) {
			break
		}
		q[i] = q[p]
		i = p
	}
	q[i] = *ev
}

func (e *Engine) pop() event {
	q := e.queue
	top := q[0]
	n := len(q) - 1
	last := q[n]
	q[n] = event{}
	if e.queue = q[:n]; n > 0 {
		e.down(&last)
	}
	return top
}

func (e *Engine) down(ev *event) {
	q := e.queue
	i := 0
	for {
		c := ways*i + 1
		if c >= len(q) {
			break
		}
		for k, end := c+1, min(c+ways, len(q)); k < end; k++ {
			if q[k].before(&q[c]) {
				c = k
			}
		}
		if !q[c].before(ev) {
			break
		}
		q[i] = q[c]
		i = c
	}
	q[i] = *ev
}
