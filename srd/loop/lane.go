package loop

import (
	"sync"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// trainAge is the age above which a train is dropped. Even on a busy machine, a thread waits for
// its processor for a much shorter time. So an older train was built before the process was
// stopped. Most applications have repeated their requests since then.
const trainAge = 2 * time.Second

// outgoing is a train that is being sealed and sent.
type outgoing struct {
	train  *srd.Train
	lane   *lane
	number uint64 // position in the order of the lane's trains
	built  mono.Time
	recall uint32 // number of calls of Peer.Recall before the train was built
}

// lane sends the trains of one socket in the order in which they were built, whichever threads
// seal them. The other end would detect losses if packets overtook each other on a path. A
// thread does not wait for another thread's train, but leaves its own sealed train for the other
// thread to send.
type lane struct {
	built uint64 // number of trains so far; the peer's lock guards it

	mu      sync.Mutex
	sent    uint64
	waiting []*outgoing     // sealed trains behind one that is not sent yet
	room    sync.Cond       // signals room in waiting
	out     func(*outgoing) // sends the train whose number is equal to `sent`
}

// laneLimit bounds the number of trains that wait in a lane. A thread with one more train waits
// until the lane has room. Without laneLimit, the other threads would fill all memory with
// trains while one thread is delayed in a send.
const laneLimit = 16

func newLane(out func(*outgoing)) *lane {
	l := &lane{out: out}
	l.room.L = &l.mu
	return l
}

// send sends o and the trains that waited for it, and puts them into the pool `done`. If an
// earlier train is not sent yet, send() leaves o in the lane instead.
func (l *lane) send(o *outgoing, done *sync.Pool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for o.number != l.sent && len(l.waiting) >= laneLimit {
		l.room.Wait()
	}
	if o.number != l.sent {
		l.waiting = append(l.waiting, o)
		return
	}
	for o != nil {
		l.mu.Unlock()
		l.out(o)
		done.Put(o)
		l.mu.Lock()
		l.sent++
		o = l.next()
	}
}

// next removes and returns the train that is next in order, or nil if that train is not sealed
// yet.
func (l *lane) next() *outgoing {
	// A thread that waits for room may itself hold the train that is next in order.
	l.room.Broadcast()
	for i, o := range l.waiting {
		if o.number == l.sent {
			last := len(l.waiting) - 1
			l.waiting[i] = l.waiting[last]
			l.waiting[last] = nil
			l.waiting = l.waiting[:last]
			return o
		}
	}
	return nil
}
