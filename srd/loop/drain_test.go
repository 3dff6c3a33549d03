package loop

import (
	"bytes"
	"crypto/rand"
	"net/netip"
	"testing"

	"github.com/srdtun/srdtun/internal/netspace"
	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/udp"
)

// In a round the worker takes one train of any length from a socket, or a bounded number of
// single packets, as they arrive if nothing merges them. If it took only one packet, each
// packet would cost a round.
func TestDrain(t *testing.T) {
	const size = 100
	var from, bank *udp.Bank
	netspace.New(t).Must(t, func() (err error) {
		if from, err = udp.Open(udp.Config{Ports: 1}); err != nil {
			return err
		}
		bank, err = udp.Open(udp.Config{Ports: 1})
		return err
	})
	defer from.Close()
	defer bank.Close()
	h := &host{TB: t}
	h.identify(1)
	l, err := New(Config{Bank: bank, Endpoint: srd.NewEndpoint(h.id, rand.Reader), Workers: 1})
	must(t, err)
	defer l.close()
	// Without this, the kernel's filter would drop packets of no session.
	must(t, unix.SetsockoptInt(bank.Socket(0).FDs()[0], unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0))
	w, sender := l.workers[0], udp.NewSender(from, new(udp.SendStats))
	to := srd.Tuple{Remote: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), bank.Socket(0).Port)}
	packet := append([]byte{0x24}, make([]byte, size-1)...) // a packet of a session that does not exist
	send := func(packets int) {
		sender.Send(&srd.Train{Tuple: to, Size: size, Buf: bytes.Repeat(packet, packets)})
	}
	for range socketPackets + 3 {
		send(1)
	}
	for range 2 {
		send(20)
	}
	send(1)
	// An empty datagram does not count as a packet.
	must(t, unix.Sendto(from.Socket(0).FDs()[0], nil, 0, &unix.SockaddrInet4{Port: int(to.Remote.Port()), Addr: to.Remote.Addr().As4()}))
	send(1)
	for i, want := range []uint64{socketPackets, 3 + 20, 20, 1, 1, 0} {
		before := w.did.packets.Load()
		w.batcher.left = false
		w.drain(bank.Socket(0).FDs()[0], 0)
		if got := w.did.packets.Load() - before; got != want {
			t.Errorf("round %d: %d packets taken, want %d", i, got, want)
		}
		if left := i < 4; w.batcher.left != left { // the next round need not wait for packets
			t.Errorf("round %d: left %v, want %v", i, w.batcher.left, left)
		}
	}
	if got, want := l.Drops.UnknownIndex.Load(), uint64(socketPackets+3+20+20+1+1); got != want {
		t.Errorf("%d packets of an unknown session counted, want %d", got, want)
	}
}
