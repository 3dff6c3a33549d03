package loop

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/udp"
)

// The work of one round is bounded, so that no source of packets waits long for the others.
const (
	// roundEvents is the largest number of sockets and inputs in a round.
	roundEvents = 8
	// socketPackets is the largest number of single packets that a round takes from a socket. With
	// only one packet in a round, calls of epoll and acknowledgements would be needed for every few
	// packets. A train that the kernel has not merged is seldom longer than socketPackets.
	socketPackets = 16
	// roundPackets is the number of received packets after which a round ends early: about three
	// long trains. The worker then first reads and sends the applications' answers.
	roundPackets = 128
	// urgentTrains is the largest number of trains to one peer in a round while a program may be
	// waiting for an answer; at other times it is bulkTrains. The kernel takes some 70 us to send a
	// long train, and a small packet behind it waits for that time. Sending eight trains in a row
	// saves a tenth of a bulk transfer's processor time. The number of sockets is a further bound,
	// because the far end reads one train in a round from each socket. On a single socket, eight
	// trains in a row reduce the rate by a third.
	urgentTrains = 1
	bulkTrains   = 8
)

// catchUpPackets exceeds the number of trains or single packets in a full socket buffer of 8 MB,
// because each takes at least a page.
const catchUpPackets = 1 << 12

// worker is one goroutine that serves its share of the sockets, of the inputs, and of the peers'
// timers. A worker is a single goroutine, because passing a train to another thread costs more
// than handling the train. The worker sleeps in a waiter. Its timer is a timerfd, because Go's
// own timers round up to a millisecond when idle.
//
// The goroutine is not locked to its thread. If the goroutine were locked to a thread, each
// wake-up from Go's poller would need another thread.
type worker struct {
	loop   *Loop
	bit    uint32 // the worker's bit in Peer.touched
	number int    // the worker's index in Peer.turns

	sockets int // number of sockets in the whole bank
	waiter  *waiter
	timer   int
	event   int // eventfd: stop
	timers  timers

	recv    *udp.Receiver
	sender  *udp.Sender                      // sends replies that belong to no peer
	socks   atomic.Pointer[map[int32]uint16] // index of each socket, by descriptor; replaced when the bank opens more sockets
	singles []int                            // number of recent single packets at each socket, up to socketPackets
	inputs  map[int32]Input
	touched []*Peer
	again   []*Peer // those peers in touched that have more to send
	mark    func(*Peer, bool)
	urgent  mono.Time // when an input last had an urgent packet
	began   mono.Time // start of the current scheduler slice, in urgent rounds
	resumed mono.Time // last resumption of the process that catchUp has handled
	stale   bool      // received packets waited during the stop
	read    mono.Time // time before the last reading of the sockets
	nonce   srd.Nonce
	message srd.Message
	copies  srd.Copies
	taken   int       // packets received in this round
	useful  bool      // a peer had work in this round
	used    mono.Time // last time at which `useful` was true
	batcher coalescer
	turns   turns
	packets [srd.MaxTrain * 2]srd.Packet

	late  mono.Lateness
	delay atomic.Int64 // value of `late`, in nanoseconds

	did struct{ packets, trains atomic.Uint64 } // counts since the start
}

// firstDelay is a worker's lateness in nanoseconds before the first measurement.
const firstDelay = int64(mono.Granularity)

func newWorker(l *Loop, number, workers int, inputs []Input) (*worker, error) {
	w := &worker{
		loop: l, bit: 1 << number, number: number, sockets: l.bank.Len(), timer: -1, event: -1, recv: udp.NewReceiver(l.bank, &l.Recvs), singles: make([]int, l.bank.Len()),
		inputs: map[int32]Input{},
	}
	w.mark = w.given
	w.delay.Store(firstDelay)
	w.sender = udp.NewSender(l.bank, &l.Sends)
	w.timers.armed = mono.Never
	w.timers.arm = w.armTimer
	var err error
	if w.waiter, err = newWaiter(); err != nil {
		return nil, err
	}
	if w.timer, err = unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		w.close()
		return nil, fmt.Errorf("loop: timer: %w", err)
	}
	if w.event, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		w.close()
		return nil, fmt.Errorf("loop: eventfd: %w", err)
	}
	fds := []int{w.timer, w.event}
	socks := w.share(workers)
	w.socks.Store(&socks)
	for fd := range socks {
		fds = append(fds, int(fd))
	}
	for _, in := range inputs {
		w.inputs[int32(in.FD())] = in
		fds = append(fds, in.FD())
	}
	for _, fd := range fds {
		var flags uint32
		if fd == w.timer {
			flags = unix.EPOLLET // the timer need not be read: setting it again clears it
		}
		if err := w.waiter.add(fd, flags); err != nil {
			w.close()
			return nil, err
		}
	}
	return w, nil
}

// share returns the descriptors of the sockets that belong to a worker.
func (w *worker) share(workers int) map[int32]uint16 {
	socks := map[int32]uint16{}
	for i := w.number; i < w.loop.bank.Len(); i += workers {
		for _, fd := range w.loop.bank.Socket(i).FDs() {
			socks[int32(fd)] = uint16(i)
		}
	}
	return socks
}

// join makes the worker serve the sockets that the bank has opened since the worker began. Other
// goroutines may call join(), and no other method, while the worker runs.
func (w *worker) join(workers int) error {
	old, now := *w.socks.Load(), w.share(workers)
	w.socks.Store(&now)
	for fd := range now {
		if _, known := old[fd]; known {
			continue
		}
		if err := w.waiter.add(int(fd), 0); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) close() {
	w.timers.stop()
	w.waiter.close()
	closeAll(w.timer, w.event)
}

func (w *worker) stop() {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], 1)
	// The write fails only if the counter is full, and then the worker wakes anyway.
	_, _ = unix.Write(w.event, b[:])
}

// armTimer sets the timerfd. The caller holds timers.mu.
func (w *worker) armTimer(at mono.Time) {
	now := w.loop.Now()
	d := max(1, at.Sub(now))
	w.timers.fires = now.Add(d)
	its := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	_ = unix.TimerfdSettime(w.timer, 0, &its, nil) // fails only on invalid arguments
}

// run serves until the method stop() is called.
func (w *worker) run() error {
	events := make([]unix.EpollEvent, roundEvents)
	var ready []unix.EpollEvent // events that are not served yet
	for {
		if len(ready) == 0 {
			n, err := w.wait(events)
			if err == unix.EINTR {
				continue
			}
			if err != nil {
				return fmt.Errorf("loop: epoll wait: %w", err)
			}
			ready = events[:n]
		}
		for w.taken = 0; len(ready) > 0 && w.taken < roundPackets; ready = ready[1:] {
			e := &ready[0]
			switch int(e.Fd) {
			case w.event:
				return nil
			case w.timer:
				w.expire()
			default:
				if in := w.inputs[e.Fd]; in == nil {
					w.drain(int(e.Fd), (*w.socks.Load())[e.Fd])
				} else if err := in.Serve(w.mark); err != nil {
					return err
				}
			}
		}
		if err := w.finish(); err != nil {
			return err
		}
	}
}

// wait returns the ready events. The worker sleeps only if no peer has more to send.
func (w *worker) wait(events []unix.EpollEvent) (int, error) {
	now := w.loop.Now()
	sleep := len(w.touched) == 0 && len(w.turns.waiting) == 0
	switch pause, lone := w.batcher.pause(now), w.lone(now); {
	case !sleep:
	case lone:
		nap(floodPause)
	case pause:
		nap(coalesceFor)
	}
	n, err := w.waiter.wait(events, sleep)
	w.loop.clock.look()
	return n, err
}

// nap sleeps, hidden from Go's scheduler. A signal ends the sleep early, which does no harm.
func nap(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}

// expire serves the peers whose deadline has come.
func (w *worker) expire() {
	now := w.loop.Now()
	if at := w.timers.fired(); at != 0 {
		w.waited(now.Sub(at))
	}
	for p := w.timers.due(now); p != nil; p = w.timers.due(now) {
		p.mu.Lock()
		if !p.removed {
			p.advance(now)
		}
		p.mu.Unlock()
		w.touch(p)
	}
}

// waited records how long a due event waited for this worker.
func (w *worker) waited(d time.Duration) {
	w.late.Add(d)
	w.delay.Store(int64(w.late.Value()))
}

// arrived returns the kernel's receive time of a packet that was read just now, or 0 if that
// time is unknown. It records the time for which the packet waited.
func (w *worker) arrived(stamp int64) mono.Time {
	at, waited := w.loop.clock.arrived(stamp)
	if at != 0 && !w.stale {
		w.waited(waited)
	}
	return at
}

// given is the function touch() that Input.Serve gets. An input calls it after giving work to p.
func (w *worker) given(p *Peer, urgent bool) {
	if urgent {
		w.urgent = w.loop.Now()
	}
	w.touch(p)
}

// trains returns the largest number of trains for a peer in this round.
func (w *worker) trains(now mono.Time) int {
	if w.awaited(now) {
		return urgentTrains
	}
	return min(bulkTrains, w.sockets)
}

// touch marks peer p for the next call of finish(), because p has work.
func (w *worker) touch(p *Peer) {
	w.useful = true
	if p.touched.Or(w.bit)&w.bit == 0 {
		w.touched = append(w.touched, p)
	}
}

// finish passes on received data, sends, and sets timers, once for each peer of the round. Peers
// that have more to send stay marked.
func (w *worker) finish() error {
	w.serveShelves()
	w.turns.next()
	flushed := false
	for _, p := range w.touched {
		flushed = p.app.Flush() || flushed
	}
	// Applications often answer data at once, for example by a TCP acknowledgement. An answer
	// that is sent in this round carries our own acknowledgement.
	if flushed {
		for _, in := range w.inputs {
			if err := in.Serve(w.mark); err != nil {
				return err
			}
		}
	}
	w.again = w.again[:0]
	trains := w.trains(w.loop.Now())
	for _, p := range w.touched {
		sent, more := p.send(trains)
		w.did.trains.Add(uint64(sent))
		if !more {
			p.touched.And(^w.bit)
		} else {
			w.again = append(w.again, p)
		}
	}
	clear(w.touched)
	w.touched, w.again = w.again, w.touched[:0]
	if w.sliceOver(w.loop.Now()) {
		allowPreemption()
	}
	return nil
}

// catchUp empties the sockets if the process was stopped since the last call.
func (w *worker) catchUp() {
	w.read = w.loop.Now()
	if w.loop.alive == nil {
		return
	}
	resumed := w.loop.alive(w.read)
	if resumed == w.resumed {
		return
	}
	w.resumed, w.stale = resumed, true
	for fd, sock := range *w.socks.Load() {
		for n := 0; n < catchUpPackets; n += udp.ReadMost {
			if r := w.receive(int(fd), sock, udp.ReadMost); !r.more {
				break
			}
		}
		for _, p := range w.touched { // pass on now, or the data of all sockets would be in memory at once
			p.app.Flush()
		}
	}
	w.stale = false
}

// drain reads one train from a socket, or a few packets that were not merged into one. A socket
// with more packets is ready again in the next round. Up to a bound, packets that are put into
// backlogs do not count towards socketPackets.
func (w *worker) drain(fd int, sock uint16) {
	shelved := 0
	for n := 0; n < socketPackets && shelved < shelfLoops*socketPackets; {
		w.catchUp() // the process may have been stopped since the last packet
		r := w.receive(fd, sock, w.readMost(sock))
		shelved += r.shelved
		if n += r.single; !r.more || r.ends {
			w.batcher.left = w.batcher.left || r.more && r.ends // the next train may already be in the socket
			return
		}
	}
	w.batcher.left = true
}

// readMost returns how many datagrams to take from a socket at once: ReadMost if the last
// packets arrived one by one, otherwise one. After a train, no more datagrams are read from the
// socket in this round.
func (w *worker) readMost(sock uint16) int {
	if w.singles[sock] < socketPackets {
		return 1
	}
	return udp.ReadMost
}

// reading describes the datagrams that one system call returned.
type reading struct {
	single  int  // number of single packets
	shelved int  // datagrams
	ends    bool // a train or an empty datagram: no more is read from the socket in this round
	more    bool // the socket may contain more
}

// receive makes one system call that takes up to `most` datagrams from a socket.
func (w *worker) receive(fd int, sock uint16, most int) (r reading) {
	got, more := w.recv.Read(fd, most)
	r.more = more
	for i := range got {
		switch packets, later := w.accept(&got[i], sock); {
		case later:
			r.shelved++
		case packets == 1:
			r.single++
			w.singles[sock] = min(w.singles[sock]+1, socketPackets)
		default:
			r.ends, w.singles[sock] = true, 0
		}
	}
	return r
}

// accept handles a datagram. The result `packets` is the number of packets in it, and `later` is
// true if it was put into a backlog.
func (w *worker) accept(d *udp.Datagram, sock uint16) (packets int, later bool) {
	w.turns.since = 0
	if w.loop.table.several.Load() {
		w.turns.since = w.loop.Now()
	}
	if w.loop.inner != nil && w.loop.inner(d.Local.Addr()) {
		w.loop.Drops.Inner.Add(1)
		return 1, false
	}
	if w.loop.barred != nil && w.loop.barred(d.Local) {
		w.loop.Drops.Barred.Add(1)
		return 1, false
	}
	t := srd.Tuple{Sock: sock, Local: d.Local, Remote: d.From}
	size := d.Segment
	if size == 0 {
		size = len(d.Data)
	}
	w.batcher.add(len(d.Data))
	if len(d.Data) == 0 {
		w.stranger(t, nil, false) // stranger counts the empty datagram
		return 0, false
	}
	n := (len(d.Data) + size - 1) / size
	w.did.packets.Add(uint64(n))
	// Packets that waited while the process was stopped are handled at once, because a backlog
	// does not record that they waited.
	at := w.arrived(d.Stamp)
	if w.turns.since != 0 && !w.stale && w.shelved(t, d.Data, size, n, d.ECN, at) {
		return n, true
	}
	w.taken += n
	w.take(t, d.Data, size, d.ECN, at)
	return n, false
}

// take handles a datagram that arrived at the host at the time `at`. Nearly always all packets
// of a train belong to one session, because the kernel merges only packets of one 4-tuple.
// Successive packets with the same receiver index are decrypted together.
func (w *worker) take(t srd.Tuple, b []byte, size int, ecn srd.ECN, at mono.Time) {
	merged := size < len(b)
	for len(b) > 0 {
		index, ok := srd.DataIndex(b[:min(size, len(b))])
		if !ok {
			w.stranger(t, b[:min(size, len(b))], merged)
			b = b[min(size, len(b)):]
			continue
		}
		run := min(size, len(b))
		for n := 1; run < len(b) && n < len(w.packets); n++ {
			k := min(size, len(b)-run)
			if i, ok := srd.DataIndex(b[run : run+k]); !ok || i != index {
				break
			}
			run += k
		}
		w.open(t, index, b[:run], size, ecn, at, merged)
		b = b[run:]
	}
}

// open decrypts successive packets of one session and passes them to its connection.
func (w *worker) open(t srd.Tuple, index uint32, b []byte, size int, ecn srd.ECN, at mono.Time, merged bool) {
	e := w.loop.table.find(index)
	if e.keys == nil || e.peer == nil {
		n := (len(b) + size - 1) / size
		w.loop.Drops.UnknownIndex.Add(uint64(n))
		w.none(t.Sock, uint32(n), merged)
		return
	}
	p := e.peer
	defer w.spend(p)
	if n := w.decrypt(p, e.keys, t, b, size, ecn, at); n > 0 {
		w.handle(p, w.packets[:n])
		w.copies.Run() // handle touches p, so Flush follows
	}
}

// handle passes decrypted packets to the connection, and their messages to the application.
func (w *worker) handle(p *Peer, packets []srd.Packet) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(packets)
	if p.removed {
		w.loop.Drops.Closed.Add(uint64(n))
		return
	}
	p.carried.In++
	now := w.loop.Now()
	for i := range packets {
		k := &packets[i]
		p.conn.Handle(now, k)
		p.newest.saw(k.Slot, k.PN)
		if p.conn.Restarted() {
			p.newest.forget()
			p.app.Restarted(now)
		}
		for w.next(now, p.conn) {
			p.app.Deliver(now, &w.message)
		}
	}
	p.advance(now)
	w.touch(p)
}

// next moves the next arrived message into w.message. A local variable would need an allocation
// for each message, because its address passes through an interface. A packet is also stale if
// it was read before the process was stopped and is handled afterwards.
func (w *worker) next(now mono.Time, c *srd.Conn) (ok bool) {
	w.message, ok = c.Recv()
	w.message.Stale, w.message.Copies = w.stale || now.Sub(w.read) > trainAge, &w.copies
	return ok
}

// decrypt decrypts those packets in b that may be new, and stores them in w.packets. It takes
// the peer's lock only if a packet number is not above all numbers seen before.
func (w *worker) decrypt(p *Peer, k *srd.RecvKeys, t srd.Tuple, b []byte, size int, ecn srd.ECN, at mono.Time) int {
	var old [len(w.packets)]bool
	for c := b; len(c) > 0; c = c[min(size, len(c)):] {
		if !p.newest.beyond(srd.DataNumber(c)) {
			w.look(p, b, size, old[:])
			break
		}
	}
	n := 0
	for i := 0; len(b) > 0; i++ {
		s := min(size, len(b))
		if !old[i] {
			pkt, ok := k.Open(b[:s], &w.nonce)
			if !ok {
				w.loop.Drops.Forged.Add(1)
			} else {
				pkt.Tuple, pkt.ECN, pkt.At = t, ecn, at
				w.packets[n] = pkt
				n++
			}
		}
		b = b[s:]
	}
	return n
}

// look marks the packets in b whose numbers were seen before.
func (w *worker) look(p *Peer, b []byte, size int, old []bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := 0; len(b) > 0; i++ {
		old[i] = !p.conn.Fresh(srd.DataNumber(b))
		b = b[min(size, len(b)):]
	}
}

// handshake handles a packet that is not a data packet.
func (w *worker) handshake(t srd.Tuple, b []byte) {
	now := w.loop.Now()
	w.loop.endLock.Lock()
	a, reply := w.loop.endpoint.Receive(now, t, b, w.loop.table.conn)
	w.loop.endLock.Unlock()
	if a.Conn != nil {
		if p := w.loop.table.peer(a.Conn); p != nil && w.deliver(p, &a, now) {
			w.loop.endLock.Lock()
			reply = w.loop.endpoint.Stale(now, &a)
			w.loop.endLock.Unlock()
		}
	}
	if reply != nil && !w.loop.withholds(t.Local, 1) {
		w.sender.Send(srd.Raw(t, reply))
	}
}

func (w *worker) deliver(p *Peer, a *srd.Arrival, now mono.Time) (stale bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.removed {
		return false
	}
	stale = a.Deliver(now)
	if p.conn.Restarted() {
		p.app.Restarted(now)
	}
	p.advance(now)
	w.touch(p)
	return stale
}
