package epnet_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// ends are two net.PacketConns of one kind, with the address of b.
type ends struct {
	a, b net.PacketConn
	toB  net.Addr
	// other is an address of another kind of network.
	other net.Addr
	// most is the longest datagram in bytes.
	most int
}

func udpEnds(t *testing.T) ends {
	open := func() net.PacketConn {
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		must(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	a, b := open(), open()
	return ends{a, b, b.LocalAddr(), &net.UnixAddr{Name: "/x", Net: "unixgram"}, 65_507}
}

func packetEnds(t *testing.T) ends {
	a, b, to := packets(t)
	return ends{a, b, to, &net.UDPAddr{}, 65_507}
}

// Packets passes the tests that UDP passes. Each test gets new ends.
func TestPacketConnAsUDP(t *testing.T) {
	kinds := []struct {
		name string
		make func(*testing.T) ends
	}{{"udp", udpEnds}, {"epnet", packetEnds}}
	for _, test := range packetConnTests {
		for _, k := range kinds {
			t.Run(test.name+"/"+k.name, func(t *testing.T) {
				e := k.make(t)
				must(t, e.b.SetReadDeadline(time.Now().Add(time.Minute)))
				test.run(t, e)
			})
		}
	}
}

var packetConnTests = []struct {
	name string
	run  func(*testing.T, ends)
}{
	{"sizes", sizesArrive},
	{"round trip", addressAnswers},
	{"short buffer", shortBufferTruncates},
	{"empty buffer", emptyBufferTakesOne},
	{"buffer reuse", writerKeepsItsBuffer},
	{"past deadlines", pastDeadlines},
	{"future deadline", futureDeadline},
	{"deadline while reading", deadlineWhileReading},
	{"deadline taken back", deadlineTakenBack},
	{"deadline beside a datagram", deadlineBesideDatagram},
	{"close unblocks", closeUnblocks},
	{"closed", closedRefuses},
	{"closed with a datagram", closedWithDatagram},
	{"closed after writing", closedAfterWriting},
	{"closed after a deadline", closedAfterDeadline},
	{"wrong address", wrongAddress},
	{"too long", tooLong},
	{"nobody", nobodyThere},
	{"to itself", toItself},
	{"concurrent", concurrentUse},
}

func sizesArrive(t *testing.T, e ends) {
	buf := make([]byte, e.most+1)
	for _, n := range []int{0, 1, 1500, 8192, 8193, e.most} {
		want := bytes.Repeat([]byte{byte(n), 7}, n)[:n]
		if m, err := e.a.WriteTo(want, e.toB); m != n || err != nil {
			t.Fatalf("writing %d bytes: %d, %v", n, m, err)
		}
		if m, _, err := e.b.ReadFrom(buf); err != nil || !bytes.Equal(buf[:m], want) {
			t.Fatalf("reading %d bytes: %d, %v", n, m, err)
		}
	}
}

func addressAnswers(t *testing.T, e ends) {
	e.a.SetDeadline(time.Now().Add(time.Minute))
	if e.b.LocalAddr().String() != e.toB.String() || e.b.LocalAddr().Network() != e.toB.Network() {
		t.Errorf("local address %v, want %v", e.b.LocalAddr(), e.toB)
	}
	e.a.WriteTo([]byte("question"), e.toB)
	_, from, err := e.b.ReadFrom(make([]byte, 100))
	must(t, err)
	if from.String() != e.a.LocalAddr().String() {
		t.Errorf("from %v, want %v", from, e.a.LocalAddr())
	}
	if _, err := e.b.WriteTo([]byte("answer"), from); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	n, from, err := e.a.ReadFrom(buf)
	if err != nil || string(buf[:n]) != "answer" || from.String() != e.toB.String() {
		t.Errorf("%q from %v, %v", buf[:n], from, err)
	}
}

func shortBufferTruncates(t *testing.T, e ends) {
	e.a.WriteTo([]byte("0123456789"), e.toB)
	buf := make([]byte, 4)
	if n, _, err := e.b.ReadFrom(buf); n != 4 || string(buf) != "0123" || err != nil {
		t.Errorf("%d, %q, %v", n, buf, err)
	}
	e.a.WriteTo([]byte("next"), e.toB)
	if n, _, err := e.b.ReadFrom(buf); n != 4 || string(buf) != "next" || err != nil {
		t.Errorf("the rest was not dropped: %d, %q, %v", n, buf, err)
	}
}

func emptyBufferTakesOne(t *testing.T, e ends) {
	e.a.WriteTo([]byte("0123456789"), e.toB)
	if n, from, err := e.b.ReadFrom(nil); n != 0 || from == nil || err != nil {
		t.Errorf("%d, %v, %v", n, from, err)
	}
}

func writerKeepsItsBuffer(t *testing.T, e ends) {
	const datagrams = 10 // they fit into a socket's buffer
	b := make([]byte, 3000)
	for i := range datagrams {
		for j := range b {
			b[j] = byte(i)
		}
		e.a.WriteTo(b, e.toB)
	}
	for range datagrams {
		got := make([]byte, len(b))
		n, _, err := e.b.ReadFrom(got)
		if err != nil || n != len(b) || !bytes.Equal(got, bytes.Repeat(got[:1], n)) {
			t.Fatalf("%d bytes, %v: changed after WriteTo", n, err)
		}
	}
}

// timedOut checks the error of a call whose deadline has passed.
func timedOut(t *testing.T, op string, err error) {
	t.Helper()
	operation(t, op, err, os.ErrDeadlineExceeded)
	if n, ok := errors.AsType[net.Error](err); !ok || !n.Timeout() {
		t.Errorf("%v is no timeout of net.Error", err)
	}
}

// operation checks that an error is a *net.OpError which names the operation.
func operation(t *testing.T, op string, err, want error) {
	t.Helper()
	o, ok := err.(*net.OpError)
	if !ok || o.Op != op || o.Net == "" || !errors.Is(err, want) {
		t.Errorf("%T %v, want a *net.OpError of %s with %v", err, err, op, want)
	}
}

func pastDeadlines(t *testing.T, e ends) {
	for _, past := range []time.Time{time.Now().Add(-time.Hour), time.Now(), time.Unix(1, 0)} {
		must(t, e.a.SetDeadline(past))
		_, _, err := e.a.ReadFrom(make([]byte, 1))
		timedOut(t, "read", err)
		_, err = e.a.WriteTo(nil, e.toB)
		timedOut(t, "write", err)
	}
	must(t, e.a.SetWriteDeadline(time.Time{}))
	if _, err := e.a.WriteTo(nil, e.toB); err != nil {
		t.Error(err)
	}
	_, _, err := e.a.ReadFrom(make([]byte, 1))
	timedOut(t, "read", err)
}

func futureDeadline(t *testing.T, e ends) {
	must(t, e.a.SetDeadline(time.Now().Add(20*time.Millisecond)))
	_, _, err := e.a.ReadFrom(make([]byte, 1))
	timedOut(t, "read", err)
	_, err = e.a.WriteTo(nil, e.toB)
	timedOut(t, "write", err)
}

func deadlineWhileReading(t *testing.T, e ends) {
	errs := make(chan error)
	for range 3 {
		go func() { _, _, err := e.a.ReadFrom(make([]byte, 1)); errs <- err }()
	}
	time.Sleep(10 * time.Millisecond)
	must(t, e.a.SetReadDeadline(time.Now()))
	for range 3 {
		timedOut(t, "read", <-errs)
	}
}

func deadlineTakenBack(t *testing.T, e ends) {
	must(t, e.b.SetReadDeadline(time.Now().Add(time.Second)))
	done := make(chan error)
	go func() { _, _, err := e.b.ReadFrom(make([]byte, 1)); done <- err }()
	must(t, e.b.SetReadDeadline(time.Time{}))
	time.Sleep(1100 * time.Millisecond)
	e.a.WriteTo([]byte("x"), e.toB)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// arrived waits until a datagram is ready to be read from b.
func arrived(t *testing.T, e ends) {
	e.a.WriteTo([]byte("first"), e.toB)
	e.a.WriteTo([]byte("second"), e.toB)
	if _, _, err := e.b.ReadFrom(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // both kinds of ends receive in the background
}

func deadlineBesideDatagram(t *testing.T, e ends) {
	arrived(t, e)
	must(t, e.b.SetReadDeadline(time.Now().Add(-time.Second)))
	_, _, err := e.b.ReadFrom(make([]byte, 10))
	timedOut(t, "read", err)
	must(t, e.b.SetReadDeadline(time.Now().Add(time.Minute)))
	if _, _, err := e.b.ReadFrom(make([]byte, 10)); err != nil {
		t.Errorf("the datagram is lost: %v", err)
	}
}

func closeUnblocks(t *testing.T, e ends) {
	errs := make(chan error)
	for range 3 {
		go func() { _, _, err := e.a.ReadFrom(make([]byte, 1)); errs <- err }()
	}
	time.Sleep(10 * time.Millisecond)
	must(t, e.a.Close())
	for range 3 {
		operation(t, "read", <-errs, net.ErrClosed)
	}
}

func closedRefuses(t *testing.T, e ends) {
	local := e.a.LocalAddr().String()
	must(t, e.a.Close())
	operation(t, "close", e.a.Close(), net.ErrClosed)
	_, _, err := e.a.ReadFrom(make([]byte, 1))
	operation(t, "read", err, net.ErrClosed)
	_, err = e.a.WriteTo(nil, e.toB)
	operation(t, "write", err, net.ErrClosed)
	operation(t, "set", e.a.SetDeadline(time.Time{}), net.ErrClosed)
	operation(t, "set", e.a.SetReadDeadline(time.Now()), net.ErrClosed)
	operation(t, "set", e.a.SetWriteDeadline(time.Now()), net.ErrClosed)
	if got := e.a.LocalAddr().String(); got != local {
		t.Errorf("local address %v, want %v", got, local)
	}
}

func closedWithDatagram(t *testing.T, e ends) {
	arrived(t, e)
	must(t, e.b.Close())
	_, _, err := e.b.ReadFrom(make([]byte, 10))
	operation(t, "read", err, net.ErrClosed)
}

func closedAfterWriting(t *testing.T, e ends) {
	e.a.WriteTo([]byte("last"), e.toB)
	must(t, e.a.Close())
	buf := make([]byte, 10)
	if n, _, err := e.b.ReadFrom(buf); string(buf[:n]) != "last" || err != nil {
		t.Errorf("%q, %v", buf[:n], err)
	}
}

func closedAfterDeadline(t *testing.T, e ends) {
	must(t, e.a.SetDeadline(time.Now().Add(-time.Second)))
	must(t, e.a.Close())
	_, _, err := e.a.ReadFrom(make([]byte, 1))
	operation(t, "read", err, net.ErrClosed)
	_, err = e.a.WriteTo(nil, e.toB)
	operation(t, "write", err, net.ErrClosed)
}

func wrongAddress(t *testing.T, e ends) {
	for _, addr := range []net.Addr{e.other, nil} {
		_, err := e.a.WriteTo([]byte("x"), addr)
		if o, ok := err.(*net.OpError); !ok || o.Op != "write" || o.Timeout() {
			t.Errorf("to %v: %T %v", addr, err, err)
		}
	}
	_, err := e.a.WriteTo([]byte("x"), e.other)
	operation(t, "write", err, syscall.EINVAL)
	if _, err := e.a.WriteTo([]byte("x"), e.toB); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func tooLong(t *testing.T, e ends) {
	n, err := e.a.WriteTo(make([]byte, e.most+1), e.toB)
	if operation(t, "write", err, syscall.EMSGSIZE); n != 0 {
		t.Errorf("wrote %d bytes", n)
	}
}

// A missing peer is no error of the writer.
func nobodyThere(t *testing.T, e ends) {
	e.b.Close()
	for range 3 {
		if _, err := e.a.WriteTo([]byte("x"), e.toB); err != nil {
			t.Error(err)
		}
	}
	must(t, e.a.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	_, _, err := e.a.ReadFrom(make([]byte, 1))
	timedOut(t, "read", err)
}

func toItself(t *testing.T, e ends) {
	if _, err := e.b.WriteTo([]byte("x"), e.toB); err != nil {
		t.Fatal(err)
	}
	if _, from, err := e.b.ReadFrom(make([]byte, 1)); err != nil || from.String() != e.toB.String() {
		t.Errorf("from %v, %v", from, err)
	}
}

// Many goroutines write and read at the same time, and each datagram stays whole.
func concurrentUse(t *testing.T, e ends) {
	const writers, each = 8, 10
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := map[string]bool{}
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if _, err := e.a.WriteTo(fmt.Append(nil, strings.Repeat(fmt.Sprint(w, "-", i, " "), 50)), e.toB); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			buf := make([]byte, 2000)
			for range each {
				n, _, err := e.b.ReadFrom(buf)
				word, _, _ := strings.Cut(string(buf[:n]), " ")
				if err != nil || string(buf[:n]) != strings.Repeat(word+" ", 50) {
					t.Errorf("%q, %v", buf[:n], err)
					return
				}
				mu.Lock()
				got[word] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(got) != writers*each {
		t.Errorf("%d different datagrams of %d", len(got), writers*each)
	}
}
