package loop

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/udp"
)

// App is what sits above one connection. All methods but Flush are called with
// the peer locked.
type App interface {
	srd.Source
	// Deliver takes a message. Its payload is borrowed until it returns.
	Deliver(now mono.Time, m *srd.Message)
	// Restarted tells that the peer lost its state: what was half received is void.
	Restarted(now mono.Time)
	// Backlog reports whether Pull would return something.
	Backlog() bool
	// Advance lets time pass; Deadline says when it wants that.
	Advance(now mono.Time)
	Deadline() mono.Time
	// Flush hands on what Deliver and Advance made ready. It is called without
	// the peer's lock, on one goroutine at a time. It reports whether there was
	// anything.
	Flush() bool
}

// Input is where an application's data comes from: a descriptor that a worker
// polls along with its sockets.
type Input interface {
	// FD is the descriptor; it is readable while there is something.
	FD() int
	// Serve takes a bounded amount, without waiting, and calls touch for each peer
	// that it gave work, telling whether any of that is urgent: small enough for
	// somebody to wait for its answer. After an error it is not called again: the
	// loop ends.
	Serve(touch func(p *Peer, urgent bool)) error
}

// Config is what a loop is made of.
type Config struct {
	Bank     *udp.Bank
	Endpoint *srd.Endpoint
	Workers  int     // threads
	Inputs   []Input // shared out among them
}

// Loop drives all connections of a process.
type Loop struct {
	bank  *udp.Bank
	start time.Time
	table table

	endLock  sync.Mutex
	endpoint *srd.Endpoint

	workers []*worker
	turn    atomic.Uint32 // assigns peers to workers
	outs    sync.Pool     // of *outgoing

	Sends udp.SendStats
	Recvs udp.RecvStats
	Drops Drops
}

// Drops count what the driver itself drops.
type Drops struct {
	UnknownIndex atomic.Uint64 // data packets of no session
	Forged       atomic.Uint64 // data packets that do not open
	Closed       atomic.Uint64 // for a peer that was removed meanwhile
}

// MaxWorkers bounds the threads of a loop: a peer has a bit for each.
const MaxWorkers = 32

// New returns a loop that does not run yet.
func New(cfg Config) (*Loop, error) {
	if cfg.Workers < 1 || cfg.Workers > MaxWorkers {
		return nil, fmt.Errorf("loop: %d workers, want 1 to %d", cfg.Workers, MaxWorkers)
	}
	l := &Loop{bank: cfg.Bank, start: time.Now(), endpoint: cfg.Endpoint}
	l.table.init()
	l.outs.New = func() any { return &outgoing{train: srd.NewTrain()} }
	for i := range cfg.Workers {
		var in []Input
		for k := i; k < len(cfg.Inputs); k += cfg.Workers {
			in = append(in, cfg.Inputs[k])
		}
		w, err := newWorker(l, i, cfg.Workers, in)
		if err != nil {
			l.close()
			return nil, err
		}
		l.workers = append(l.workers, w)
	}
	return l, nil
}

// Now returns the time on the loop's clock. It starts above zero, which means
// "no time".
func (l *Loop) Now() mono.Time { return mono.Time(time.Since(l.start)) + 1 }

// Indexes returns the registry of receiver indices for srd.Config.
func (l *Loop) Indexes() srd.Indexes { return &l.table }

// Run serves until ctx ends or an input fails. It returns when all workers have
// stopped.
func (l *Loop) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	shortSlices(slice)
	var wg sync.WaitGroup
	errs := make([]error, len(l.workers))
	for i, w := range l.workers {
		wg.Go(func() { errs[i] = w.run(); cancel() })
	}
	<-ctx.Done()
	for _, w := range l.workers {
		w.stop()
	}
	wg.Wait()
	l.close()
	return errors.Join(errs...)
}

func (l *Loop) close() {
	for _, w := range l.workers {
		w.close()
	}
}

// Add makes a connection served. Its index registry must be l.Indexes().
func (l *Loop) Add(c *srd.Conn, app App) *Peer {
	w := l.workers[int(l.turn.Add(1))%len(l.workers)]
	p := &Peer{loop: l, worker: w, conn: c, app: app, at: mono.Never, place: -1}
	l.table.bind(c, p)
	l.endLock.Lock()
	l.endpoint.Add(c)
	l.endLock.Unlock()
	return p
}

// Remove ends a connection: its peer is told, its keys are forgotten.
func (l *Loop) Remove(p *Peer) {
	l.endLock.Lock()
	l.endpoint.Remove(p.conn)
	l.endLock.Unlock()
	o := l.outs.Get().(*outgoing)
	p.mu.Lock()
	p.removed = true
	said := p.conn.Close(l.Now(), o.train)
	if said {
		p.enter(o)
	}
	p.mu.Unlock()
	if said {
		o.train.Seal()
		o.lane.send(o, &l.outs)
	} else {
		l.outs.Put(o)
	}
	p.worker.timers.remove(p)
	l.table.unbind(p.conn)
}

// Work is what one worker did since the start.
type Work struct {
	Packets uint64 // received
	Trains  uint64 // sent
}

// Workers returns the work of each.
func (l *Loop) Workers() []Work {
	all := make([]Work, len(l.workers))
	for i, w := range l.workers {
		all[i] = Work{w.did.packets.Load(), w.did.trains.Load()}
	}
	return all
}

// EndpointDrops returns the endpoint's drop counters.
func (l *Loop) EndpointDrops() [srd.NumEndpointReasons]uint64 {
	l.endLock.Lock()
	defer l.endLock.Unlock()
	return l.endpoint.Drops
}

func closeAll(fds ...int) {
	for _, fd := range fds {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}
