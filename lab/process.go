package lab

import (
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// These constants bound the daemon's rounds and queues, with the values of srd/loop/worker.go and
// srd/udp/bank.go.
const (
	roundPackets = 128     // largest number of packets received before anything is sent
	roundTrains  = 8       // largest number of trains sent for one peer in its turn
	socketRoom   = 8 << 20 // capacity in bytes of the socket of a port
	// nicRoom bounds the bytes in the interface's queue, like fq_codel's memory_limit. The
	// interface drops packets beyond nicRoom. (Socket send buffers hold 4 MB for each port, and in
	// total more than nicRoom.)
	nicRoom = 32 << 20
	// lineShare is the share of its time for which a process works when its link is fully used. If
	// a process could not fill its link, every experiment would measure only the processor. A real
	// host with such a fast link would use several threads. So the model divides the cost of each
	// packet by the number of threads that would be needed.
	lineShare = 0.5
	// socketEach is the kernel's overhead for a packet in a socket, in bytes in addition to the
	// payload.
	socketEach = 512
	// warmSamples is the number of samples of each kind that a process has measured before time
	// zero.
	warmSamples = 64
)

// process models the daemon on a host, with one worker that sleeps, and wakes with a delay. The
// worker handles received packets, lets its connections send, and sleeps again (srd/loop). Each
// packet costs the worker processor time.
type process struct {
	host   *srdHost
	delays *delays
	rng    *rand.Rand
	share  float64 // share of the recorded costs that applies, see lineShare

	inbox   []stamped      // packets in the sockets, not received yet
	waiting map[uint16]int // bytes in inbox for each port
	touched []*srdEnd      // ends that must be served
	serve   int            // number of ends in touched that are still to be served in this round
	taken   int            // number of packets received in this round
	awake   bool
	from    netip.AddrPort // source of the packet received last, because the packets of a train arrive merged
	train   *srd.Train
	late    mono.Lateness
	stopped bool // the program does not run

	Overflow uint64 // number of packets for which the sockets had no room
	NoBuffer uint64 // number of packets for which the interface had no room
}

// stamped is a packet with the kernel's receive stamp.
type stamped struct {
	*net.Packet
	at mono.Time
}

func newProcess(h *srdHost, d *delays) *process {
	p := &process{host: h, delays: d, rng: h.srd.rng, train: srd.NewTrain(), share: 1, waiting: make(map[uint16]int)}
	mtu := float64(h.srd.cfg.MTU)
	// The factor is computed for the case in which no packets are merged and each packet is
	// answered.
	if cost := float64(d.sendTrain + d.sendPacket + d.receiveTrain + d.receivePacket); cost > 0 && h.Up.Rate > 0 {
		p.share = min(1, lineShare*mtu/h.Up.Rate*1e9/cost)
	}
	// The process behaves as if it had run for some time, and had measured its delays with pings
	// and timers.
	for range warmSamples {
		p.late.Add(d.arrival.draw(p.rng))
		p.late.Add(d.timer.draw(p.rng))
	}
	return p
}

// cost returns the processor time for n packets that form one train.
func (p *process) cost(train, each time.Duration, n int) time.Duration {
	return time.Duration(p.share * float64(train+time.Duration(n)*each))
}

// wake makes the process run after a delay, unless the process runs or is already scheduled.
func (p *process) wake(after time.Duration) {
	if !p.awake && !p.stopped {
		p.awake = true
		p.host.engine.After(after, p.step)
	}
}

// arrive models the kernel's handling of a packet that arrives for the process.
func (p *process) arrive(pkt *net.Packet) {
	port, n := pkt.Dst.Port(), pkt.Len()+socketEach
	if p.waiting[port]+n > socketRoom {
		p.Overflow++
		p.host.engine.Free(pkt)
		return
	}
	p.waiting[port] += n
	p.inbox = append(p.inbox, stamped{pkt, p.host.engine.Now()})
	p.wake(p.delays.arrival.draw(p.rng))
}

// offer wakes the process because an application has data for e. The wake-up has the same delay as
// for a packet from a device.
func (p *process) offer(e *srdEnd) {
	p.touch(e)
	p.wake(p.delays.arrival.draw(p.rng))
}

// expire wakes the process because e's deadline has passed.
func (p *process) expire(e *srdEnd) {
	p.touch(e)
	p.wake(p.delays.timer.draw(p.rng))
}

func (p *process) touch(e *srdEnd) {
	if !e.touched {
		e.touched = true
		p.touched = append(p.touched, e)
	}
}

// step performs one step of work, and schedules the next step at the end of this one.
func (p *process) step() {
	if p.stopped {
		return
	}
	var took time.Duration
	switch {
	case p.serve > 0:
		took = p.send()
	case len(p.inbox) > 0 && p.taken < roundPackets:
		took = p.receive()
	case len(p.touched) > 0:
		p.serve, p.taken = len(p.touched), 0
		took = p.send()
	case len(p.inbox) > 0:
		p.taken = 0
		took = p.receive()
	default:
		p.awake, p.taken, p.from = false, 0, netip.AddrPort{}
		return
	}
	p.host.engine.After(took, p.step)
}

// receive handles one packet and returns the processor time.
func (p *process) receive() time.Duration {
	h, pkt := p.host, p.inbox[0].Packet
	at := p.inbox[0].at
	p.late.Add(h.engine.Now().Sub(at))
	p.inbox = p.inbox[1:]
	p.waiting[pkt.Dst.Port()] -= pkt.Len() + socketEach
	p.taken++
	var train time.Duration
	if pkt.Src != p.from {
		p.from, train = pkt.Src, p.delays.receiveTrain
	}
	if e := h.take(pkt, at); e != nil {
		e.drain()
		p.touch(e)
	}
	h.engine.Free(pkt)
	return p.cost(train, p.delays.receivePacket, 1)
}

// send lets the next connection send one train and returns the processor time. The connection
// remains first in the queue until it has sent all trains of its turn, or has nothing more to send.
func (p *process) send() time.Duration {
	e := p.touched[0]
	now := p.host.engine.Now()
	if e.trains == 0 {
		e.conn.Advance(now)
		e.app.advance(now)
	}
	p.train.Buf = p.train.Buf[:0]
	if !e.conn.Next(now, p.train, e.app) {
		p.pass()
		e.touched, e.trains = false, 0
		e.arm(now)
		return 0
	}
	n := p.transmit()
	if e.trains++; e.trains == roundTrains {
		p.pass()
		e.trains = 0
		p.touched = append(p.touched, e)
	}
	return p.cost(p.delays.sendTrain, p.delays.sendPacket, n)
}

// pass removes the first connection from the queue of connections to serve.
func (p *process) pass() {
	p.touched = p.touched[1:]
	p.serve--
}

// transmit sends a train over the host's cable, packet by packet, and returns the number of
// packets.
func (p *process) transmit() (n int) {
	h, t := p.host, p.train
	from := h.source(t.Tuple)
	for b := t.Buf; len(b) > 0; n++ {
		k := min(t.Size, len(b))
		if h.Up.Waiting()+k > nicRoom {
			p.NoBuffer++
		} else {
			h.emit(b[:k], from, t.Tuple.Remote)
		}
		b = b[k:]
	}
	return n
}
