package rivals

import (
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestBatchesArrive sends itself three datagrams, and one that does not belong to the blast.
func TestBatchesArrive(t *testing.T) {
	home := netip.MustParseAddr("127.0.0.1")
	in, err := blastReceiver(home)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(in)
	out, err := blastSender(home)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(out)
	const id = 7
	b := newBatch(out, blastBytes)
	for i := range 4 {
		b.number(i, id, uint64(10+i))
	}
	b.number(3, id+1, 99)
	if n, err := b.send(4); n != 4 || err != nil {
		t.Fatalf("%d sent, %v", n, err)
	}
	got := newBatch(in, blastBytes+1)
	var numbers []uint64
	for seen := 0; seen < 4; {
		n, err := got.receive()
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if k, ours := got.read(i, id); ours {
				numbers = append(numbers, k)
			}
		}
		seen += n
	}
	if len(numbers) != 3 || numbers[0] != 10 || numbers[2] != 12 {
		t.Errorf("received %v", numbers)
	}
}

// A longer datagram of another program may begin like one of the blast. The receiver must not count
// it.
func TestLongerDatagramsAreOthers(t *testing.T) {
	b := newBatch(-1, blastBytes+1)
	b.number(0, 7, 1)
	for size, want := range map[uint32]bool{blastBytes: true, blastBytes - 1: false, blastBytes + 1: false} {
		b.msgs[0].len = size
		if _, ours := b.read(0, 7); ours != want {
			t.Errorf("%d bytes: ours is %v", size, ours)
		}
	}
}

// At a rate that any machine can reach, send keeps the rate, and never exceeds it.
func TestSendKeepsTheRate(t *testing.T) {
	out, err := blastSender(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(out)
	in, err := blastReceiver(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(in)
	const rate, during = 5000, 100 * time.Millisecond
	sent, _, err := send(out, 1, rate, during)
	if err != nil || sent == 0 || sent > rate*uint64(during/time.Millisecond)/1000 {
		t.Errorf("%d sent, %v", sent, err)
	}
}
