package loop

import (
	"sync"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// trainAge is how old a train may be when it is sent: far longer than a busy machine keeps a
// thread from its processor, so that the process was stopped since it was built, and as long
// as an application waits for an answer before it asks again.
const trainAge = 2 * time.Second

// outgoing is a train on its way out.
type outgoing struct {
	train  *srd.Train
	lane   *lane
	number uint64 // in the lane
	built  mono.Time
}

// lane has the trains from one socket leave in the order in which they were built,
// whoever seals them: a path's packets that overtake each other look like loss to
// the other end. Nobody waits for another thread to be done with a train, but
// leaves his own for it to send.
type lane struct {
	built uint64 // trains so far; with the peer locked

	mu      sync.Mutex
	sent    uint64
	waiting []*outgoing     // sealed, behind one that is not sent yet
	room    *sync.Cond      // of waiting
	out     func(*outgoing) // called by whoever has train number sent
}

// laneLimit trains wait in a lane, a few for each worker that there may be. A thread
// with one more has to wait itself, so that one that was stopped while sending does
// not have all memory filled with trains behind its own.
const laneLimit = 16

func newLane(out func(*outgoing)) *lane {
	l := &lane{out: out}
	l.room = sync.NewCond(&l.mu)
	return l
}

// send sends o, and those that were waiting for it, and puts them back into done;
// or it leaves o to wait.
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

// next takes the train out whose turn it is, if it is sealed.
func (l *lane) next() *outgoing {
	// Whoever waits for room may also have the train whose turn it is.
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
