package loop

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/udp"
)

// All messages that waited in sockets while the process was stopped are delivered as stale, and no
// later ones.
func TestStaleAfterAStop(t *testing.T) {
	a, b := newHosts(t, 1)
	a.send(10)
	b.awaitAll(10)
	if n := len(b.app.stale); n != 0 {
		t.Fatalf("%d messages are stale", n)
	}
	stop := b.stop()
	a.send(1)
	<-stop.reached
	a.send(9)
	a.awaitSent(20)
	b.resume(stop)
	b.awaitAll(20)
	a.await("acknowledgements", func(_ mono.Time, c *srd.Conn) bool { return !c.Backlog() })
	a.send(100)
	b.awaitAll(120)
	b.peer.Lock()
	defer b.peer.Unlock()
	// Message 10 wakes the worker. If the worker was about to read, the message is read before the
	// stop.
	stale := slices.DeleteFunc(slices.Sorted(slices.Values(b.app.stale)), func(n uint32) bool { return n == 10 })
	if !slices.Equal(stale, []uint32{11, 12, 13, 14, 15, 16, 17, 18, 19}) {
		t.Errorf("stale: %v, want 11 to 19", stale)
	}
}

// Trains that were built before a stop are dropped after it, and counted. Trains that only waited
// for the processor of a busy machine are sent.
func TestTrainsFromBeforeAStop(t *testing.T) {
	a, _ := newHosts(t, 1)
	out := a.peer.sendBy(udp.NewSender(a.loop.bank, &a.loop.Sends))
	try := func(age time.Duration, want uint64) {
		t.Helper()
		before := a.loop.Drops.Stopped.Load()
		out(&outgoing{train: srd.Raw(srd.Tuple{}, []byte{0}), built: a.loop.Now() - mono.Time(age)})
		if got := a.loop.Drops.Stopped.Load() - before; got != want {
			t.Errorf("of a train that is %v old %d are dropped, want %d", age, got, want)
		}
	}
	for a.loop.Now() < mono.Time(20*time.Millisecond) {
		time.Sleep(time.Millisecond)
	}
	try(10*time.Millisecond, 0)
	try(trainAge+time.Second, 1)
}

// A train that was built before its local address was removed is not sent afterwards, however long
// its thread waited for a processor. It is counted.
func TestTrainsFromARemovedLocal(t *testing.T) {
	a, _ := newHosts(t, 1)
	here, gone := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")
	l := &Loop{bank: a.loop.bank, leaves: func(u srd.Uplink) bool { return u.Addr() == here }}
	l.clock.begin(bootTime)
	out := (&Peer{loop: l}).sendBy(udp.NewSender(l.bank, &l.Sends))
	for _, k := range []struct {
		local    srd.Uplink
		withheld uint64
	}{{srd.UplinkOf(gone, 0), 1}, {srd.UplinkOf(gone, 1), 1}, {srd.UplinkOf(here, 0), 0}, {srd.Uplink{}, 0}} {
		sent, withheld := l.Sends.Packets.Load(), l.Drops.Withheld.Load()
		to := netip.AddrPortFrom(here, 9)
		out(&outgoing{train: srd.Raw(srd.Tuple{Local: k.local, Remote: to}, []byte{0}), built: l.Now()})
		sent, withheld = l.Sends.Packets.Load()-sent, l.Drops.Withheld.Load()-withheld
		if sent != 1-k.withheld || withheld != k.withheld {
			t.Errorf("from %v: %d packets sent and %d withheld", k.local, sent, withheld)
		}
	}
}

// A data packet that was built before its path was closed is not sent afterwards.
func TestTrainsOnAClosedPath(t *testing.T) {
	a, b := newHosts(t, 1)
	a.send(1)
	b.awaitAll(1)
	var open srd.Tuple
	a.peer.Do(func(_ mono.Time, c *srd.Conn) { open = c.Paths()[0].Tuple })
	closed := open
	closed.Remote = netip.AddrPortFrom(open.Remote.Addr(), 9)
	data := append([]byte{0x24}, make([]byte, 63)...)
	if _, ok := srd.DataIndex(data); !ok {
		t.Fatal("not a data packet")
	}
	out := a.peer.sendBy(udp.NewSender(a.loop.bank, &a.loop.Sends))
	before := a.peer.recalls.Load()
	a.peer.Recall()
	for _, k := range []struct {
		to     srd.Tuple
		packet []byte
		recall uint32
		want   uint64
	}{
		{closed, data, before, 1}, {closed, data, before + 1, 0}, {open, data, before, 0}, {closed, make([]byte, 64), before, 0},
	} {
		had := a.loop.Drops.PathClosed.Load()
		out(&outgoing{train: srd.Raw(k.to, k.packet), built: a.loop.Now(), recall: k.recall})
		if got := a.loop.Drops.PathClosed.Load() - had; got != k.want {
			t.Errorf("to %v at recall %d: %d packets dropped, want %d", k.to, k.recall, got, k.want)
		}
	}
}

// Packets read before a stop and handled after it are stale too.
func TestReadBeforeAStop(t *testing.T) {
	a, b := newHosts(t, 1)
	a.send(1)
	b.awaitAll(1)
	b.peer.Lock()
	defer b.peer.Unlock()
	w := &worker{loop: b.loop, read: 1}
	for age, want := range map[time.Duration]bool{trainAge / 2: false, trainAge + time.Second: true} {
		if w.next(w.read.Add(age), b.peer.conn); w.message.Stale != want {
			t.Errorf("%v after it was read: stale %v, want %v", age, w.message.Stale, want)
		}
	}
}

// Packets to an inner address of the application are dropped and counted.
func TestNothingComesThroughItself(t *testing.T) {
	a, b := newHosts(t, 1)
	b.inside.Store(true)
	a.send(1)
	for b.loop.Drops.Inner.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	b.inside.Store(false)
	b.awaitAll(1)
}
