package loop

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/udp"
)

// App is the application above one connection. The peer is locked in all methods but Flush.
type App interface {
	srd.Source
	// Joined gives the application its peer. Joined is called once, before all other methods: as
	// soon as the connection is known to the loop, a handshake may arrive.
	Joined(p *Peer)
	// Deliver handles a message, whose payload is valid only until Deliver returns.
	Deliver(now mono.Time, m *srd.Message)
	// Restarted reports that the peer has lost its state, so partly received data must be dropped.
	Restarted(now mono.Time)
	// Backlog reports whether Pull would return a message.
	Backlog() bool
	// Advance passes the time `now` to the application. Deadline returns the time of the next
	// call of Advance.
	Advance(now mono.Time)
	Deadline() mono.Time
	// Flush passes on the data that Deliver and Advance have prepared, and reports whether there
	// was any. Several goroutines may call Flush at once, without the peer's lock (see Outlet).
	Flush() bool
}

// Input is the source of an application's data: a descriptor that a worker polls along with its
// sockets.
type Input interface {
	// FD returns a descriptor that is readable while there is data.
	FD() int
	// Serve reads a bounded amount of data without waiting, and calls the function touch() for
	// each peer to which it gave work. The argument `urgent` is true for data so small that a
	// program may be waiting for the answer. An error ends the loop, and Serve is not called
	// again.
	Serve(touch func(p *Peer, urgent bool)) error
}

// Config configures a loop.
type Config struct {
	Bank     *udp.Bank
	Endpoint *srd.Endpoint
	Workers  int     // threads
	Inputs   []Input // divided among the threads
	// Inner reports whether a local address is one of the application's inner addresses. Datagrams
	// to such an address are dropped, because a path to it would lead through the tunnel itself.
	// Workers call Inner for each datagram, at any time. A nil Inner means that there are no inner
	// addresses.
	Inner func(netip.Addr) bool
	// Barred reports whether the application must not use an uplink. Datagrams to a barred uplink
	// are dropped, because any reply would be sent from that uplink. Workers call Barred for each
	// datagram, at any time. A nil Barred means that no uplink is barred.
	Barred func(srd.Uplink) bool
	// Leaves reports whether packets may leave from an uplink now. After a thread has built a
	// train and before it sends it, the thread may lose its processor, and the host may lose the
	// uplink. Threads call Leaves for each train, at any time. A nil Leaves means that packets may
	// leave from all uplinks.
	Leaves func(srd.Uplink) bool
	// Alive returns the time at which the process last resumed after it was stopped for long, or 0
	// if it never was. A worker calls Alive whenever it runs. Messages that waited in the sockets
	// during a stop are delivered as stale. If Alive is nil, stops are ignored.
	Alive func(now mono.Time) (resumed mono.Time)
}

// Loop drives all connections of a process.
type Loop struct {
	bank  *udp.Bank
	clock clock
	table table

	inner          func(netip.Addr) bool
	barred, leaves func(srd.Uplink) bool
	alive          func(mono.Time) mono.Time

	endLock  sync.Mutex
	endpoint *srd.Endpoint

	floods  *floods
	workers []*worker
	turn    atomic.Uint32 // number of assigned peers: peers are assigned to the workers in turn
	outs    sync.Pool     // trains for reuse, as *outgoing

	Sends udp.SendStats
	Recvs udp.RecvStats
	Drops Drops
}

// Drops counts the packets that the driver itself drops.
type Drops struct {
	UnknownType  atomic.Uint64 // not packets of this protocol version
	UnknownIndex atomic.Uint64 // data packets of no session
	Forged       atomic.Uint64 // data packets that cannot be decrypted
	Closed       atomic.Uint64 // packets for a peer that was removed in the meantime
	OutOfTurn    atomic.Uint64 // packets of a peer with a full backlog, because it uses more than its share of a worker's time
	Inner        atomic.Uint64 // datagrams to an inner address of the application
	Barred       atomic.Uint64 // datagrams to a barred local address
	Withheld     atomic.Uint64 // packets from a local address that was removed after they were built
	PathClosed   atomic.Uint64 // packets on a path that was closed after they were built
	Stopped      atomic.Uint64 // trains built before the process was stopped
}

// MaxWorkers bounds the threads of a loop, because a Peer has one bit for each thread.
const MaxWorkers = 32

// New returns a loop that is not running yet.
func New(cfg Config) (*Loop, error) {
	if cfg.Workers < 1 || cfg.Workers > MaxWorkers {
		return nil, fmt.Errorf("loop: %d workers, want 1 to %d", cfg.Workers, MaxWorkers)
	}
	l := &Loop{bank: cfg.Bank, endpoint: cfg.Endpoint, inner: cfg.Inner, barred: cfg.Barred, leaves: cfg.Leaves, alive: cfg.Alive, floods: newFloods(cfg.Bank)}
	l.clock.begin(bootTime)
	l.table.init()
	l.endpoint.Prefer(l.table.known)
	if err := cfg.Bank.Refuse(l.table.prefix); err != nil {
		return nil, err
	}
	l.outs.New = func() any { return &outgoing{train: srd.NewTrain().Borrow()} }
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

// Join makes the workers serve the sockets that the bank has opened since New. The loop may
// already be running.
func (l *Loop) Join() error {
	for _, w := range l.workers {
		if err := w.join(len(l.workers)); err != nil {
			return err
		}
	}
	return nil
}

// Now returns the time on the loop's clock, which counts suspended time. The clock starts above
// zero, because zero means "no time".
func (l *Loop) Now() mono.Time { return l.clock.now() }

// HostDelay returns the lateness of this host for srd.Config: the greatest lateness of all
// workers.
func (l *Loop) HostDelay() time.Duration {
	d := int64(0)
	for _, w := range l.workers {
		d = max(d, w.delay.Load())
	}
	return time.Duration(d)
}

// Indexes returns the registry of receiver indices for srd.Config.
func (l *Loop) Indexes() srd.Indexes { return &l.table }

// Addresses returns the registry of peers' addresses for srd.Config.
func (l *Loop) Addresses() srd.Addresses { return book{&l.table} }

// Run serves until ctx ends or an input fails. Run returns when all workers have stopped.
func (l *Loop) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	shortSlices(slice)
	var wg sync.WaitGroup
	errs := make([]error, len(l.workers))
	wg.Go(func() { l.floods.watch(ctx) })
	for i, w := range l.workers {
		wg.Go(func() { errs[i] = w.run(); cancel() })
	}
	<-ctx.Done()
	for _, w := range l.workers {
		w.stop()
	}
	wg.Wait()
	l.close()
	return distinct(errs)
}

// distinct joins errors without repeating a text. For example, all workers fail with the same
// error if the device is missing.
func distinct(errs []error) error {
	var all []error
	for _, err := range errs {
		if err != nil && !slices.ContainsFunc(all, func(e error) bool { return e.Error() == err.Error() }) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

func (l *Loop) close() {
	for _, w := range l.workers {
		w.close()
	}
}

// Add starts to serve a connection, whose index registry must be l.Indexes().
func (l *Loop) Add(c *srd.Conn, app App) *Peer {
	w := l.workers[int(l.turn.Add(1))%len(l.workers)]
	p := &Peer{loop: l, worker: w, conn: c, app: app, turns: make([]turn, len(l.workers)), at: mono.Never, place: -1}
	app.Joined(p)
	l.table.bind(c, p)
	l.endLock.Lock()
	l.endpoint.Add(c)
	l.endLock.Unlock()
	return p
}

// Remove ends a connection: it notifies the peer and deletes the keys.
func (l *Loop) Remove(p *Peer) {
	l.part(p, func() { p.removed = true }, (*srd.Conn).Close)
	p.worker.timers.remove(l.Now(), p)
	l.table.unbind(p.conn)
}

// Leave notifies a peer that the session ends. The connection still receives the packets that
// the peer sent before the notification arrived. After Leave, the connection does not respond
// to handshakes, because the next process of this host does. Call Remove after Leave.
func (l *Loop) Leave(p *Peer) {
	l.part(p, func() { p.left = true }, (*srd.Conn).Farewell)
}

// part removes a connection from the endpoint, and sends the packet with a CLOSE that the
// function bye() makes. A second call of part() sends no packet. The peer is locked while the
// function note() runs.
func (l *Loop) part(p *Peer, note func(), bye func(*srd.Conn, mono.Time, *srd.Train) bool) {
	l.endLock.Lock()
	l.endpoint.Remove(p.conn)
	l.endLock.Unlock()
	o := l.outs.Get().(*outgoing)
	p.mu.Lock()
	notified := p.left
	note()
	o.built = l.Now()
	closing := bye(p.conn, o.built, o.train) && !notified
	if closing {
		p.enter(o)
	}
	p.mu.Unlock()
	if closing {
		o.train.Seal()
		o.lane.send(o, &l.outs)
	} else {
		l.outs.Put(o)
	}
}

// Work counts the work of one worker since its start.
type Work struct {
	Packets uint64 // received
	Trains  uint64 // sent
}

// Workers returns the work of each worker.
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

// Refused returns the last sender of a dropped packet, for each drop reason of the endpoint.
func (l *Loop) Refused() [srd.NumEndpointReasons]srd.Refusal {
	l.endLock.Lock()
	defer l.endLock.Unlock()
	return l.endpoint.Refused
}

func closeAll(fds ...int) {
	for _, fd := range fds {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}
