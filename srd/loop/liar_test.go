package loop

import (
	"context"
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"github.com/srdtun/srdtun/internal/netspace"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/udp"
)

// liar is a peer with a regular session that sends arbitrary packets under its keys.
type liar struct {
	sender *udp.Sender
	train  *srd.Train // a train of its connection, with the keys and the receiver index
	index  [4]byte
	pn     uint64
	number uint32
}

// newLiar makes a liar from a host with a session.
func newLiar(h *host) *liar {
	l := &liar{sender: udp.NewSender(h.bank, new(udp.SendStats)), train: srd.NewTrain()}
	h.await("a packet of data", func(now mono.Time, c *srd.Conn) bool {
		h.app.last++ // one more message to send
		if !c.Next(now, l.train, h.app) {
			return false
		}
		_, ok := srd.DataIndex(l.train.Buf)
		return ok
	})
	l.index = [4]byte(l.train.Buf[4:])
	return l
}

// liarSlot is a slot that the connection does not use.
const liarSlot = 200

// send seals frames as the next packet, and sends it.
func (l *liar) send(frames []byte) {
	b := append(l.train.Buf[:0], 0x24, 0, 0, liarSlot)
	b = append(b, l.index[:]...)
	b = binary.BigEndian.AppendUint64(b, l.pn)
	b = append(b, frames...)
	l.train.Buf = append(b, make([]byte, srd.Overhead-srd.HeaderLen)...)
	l.train.Size = len(l.train.Buf)
	l.pn++
	l.train.Seal()
	l.sender.Send(l.train)
}

// messages returns the frames of n messages of one byte.
func (l *liar) messages(n int) (b []byte) {
	for range n {
		b = append(b, 1, 0, 1)
		b = binary.BigEndian.AppendUint32(b, l.number)
		b = append(b, make([]byte, srd.ImmLen+1)...)
		l.number++
	}
	return b
}

// costly is an app that takes a long time for each packet.
type costly struct {
	app
	each  time.Duration
	taken atomic.Int64
}

func (a *costly) Deliver(mono.Time, *srd.Message) {}
func (a *costly) Flush() bool                     { return false }

func (a *costly) Advance(mono.Time) {
	a.taken.Add(1)
	for from := time.Now(); time.Since(from) < a.each; {
	}
}

// A peer whose packets arrive faster than they can be handled does not delay another peer,
// although both send to one socket.
func TestPeersAreServedInTurns(t *testing.T) {
	a, b, c := &host{TB: t}, &host{TB: t}, &host{TB: t}
	netspace.New(t).Must(t, func() (err error) {
		for i, h := range []*host{a, b, c} {
			h.identify(byte(8 * (i + 1))) // X25519 ignores the lowest three bits of the key
			if h.bank, err = udp.Open(udp.Config{Ports: 1}); err != nil {
				return err
			}
		}
		return nil
	})
	defer a.run(b, 1)()
	defer b.run(a, 1)()
	slow := &costly{app: app{changed: make(chan struct{}, 1)}, each: 2 * time.Millisecond}
	b.accept(c, slow)
	defer c.run(b, 1)()
	c.send(1)
	c.await("a session", func(now mono.Time, x *srd.Conn) bool { return x.Session(now).Ready && !x.Backlog() })

	l := newLiar(c)
	over := make(chan struct{})
	flood, ended := context.WithCancel(context.Background())
	defer func() { ended(); <-over }()
	go func() {
		defer close(over)
		for flood.Err() == nil {
			// Eight times the worker's capacity.
			for range 4 {
				l.send(l.messages(1))
			}
			time.Sleep(time.Millisecond)
		}
	}()
	time.Sleep(200 * time.Millisecond) // the socket is full by now
	const n = 3000
	a.send(n)
	b.awaitAll(n)
	ended()
	<-over
	if slow.taken.Load() == 0 {
		t.Error("nothing of the flood was taken")
	}
}
