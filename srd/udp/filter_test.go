package udp

import (
	"bytes"
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/srd/handshake"
)

const testPrefix = 0xabcd

// kinds are the kinds of packets that the filter must distinguish.
var kinds = []struct {
	what string
	ours bool
	b    []byte
}{
	{"data", true, typed(0x24, 32, 4)},
	{"data, full", true, typed(0x24, judgedMost, 4)},
	{"data of another prefix", false, func() []byte { b := typed(0x24, 100, 4); b[5]++; return b }()},
	{"data with flags", false, func() []byte { b := typed(0x24, 100, 4); b[1] = 1; return b }()},
	{"data, too short", false, typed(0x24, 31, 4)},
	{"initiation", true, typed(0x21, handshake.InitiationSize, 0)},
	{"initiation, and a packet merged behind it", true, typed(0x21, handshake.InitiationSize+60, 0)},
	{"initiation, too short", false, typed(0x21, handshake.InitiationSize-1, 0)},
	{"initiation, reserved bytes", false, func() []byte { b := typed(0x21, 181, 0); b[3] = 1; return b }()},
	{"response", true, typed(0x22, handshake.ResponseSize, 8)},
	{"response, too short", false, typed(0x22, handshake.ResponseSize-1, 8)},
	{"response to another prefix", false, typed(0x22, handshake.ResponseSize, 4)},
	{"cookie", true, typed(0x23, handshake.CookieSize, 4)},
	{"cookie, too short", false, typed(0x23, handshake.CookieSize-1, 4)},
	{"cookie to another prefix", false, typed(0x23, handshake.CookieSize, 8)},
	{"another version", false, typed(0x14, 100, 4)},
	{"another type", false, typed(0x25, 100, 4)},
	{"zeros", false, make([]byte, 100)},
	{"longer than is judged", true, make([]byte, judgedMost+1)},
	{"one byte", false, []byte{0x24}},
	{"nothing", false, nil},
}

// typed returns a packet with the test's prefix at an offset, unless that is 0.
func typed(first byte, size, at int) []byte {
	b := make([]byte, size)
	b[0] = first
	if at > 0 {
		binary.BigEndian.PutUint16(b[at:], testPrefix)
	}
	return b
}

// verdict runs the filter on b with a UDP header in front. The virtual machine has no
// random numbers: the argument `random` replaces the one that the filter loads.
func verdict(t *testing.T, shares Shares, b []byte, random uint32) bool {
	t.Helper()
	code := resolve(judge(testPrefix, shares))
	for i, c := range code {
		if c == (bpf.LoadExtension{Num: bpf.ExtRand}) {
			code[i] = bpf.LoadConstant{Dst: bpf.RegA, Val: random}
		}
	}
	vm, err := bpf.NewVM(code)
	must(t, err)
	n, err := vm.Run(append(make([]byte, udpHeaderLen), b...))
	must(t, err)
	return n > 0
}

func TestFilterJudges(t *testing.T) {
	for _, k := range kinds {
		if got := verdict(t, Shares{1, 1, 1}, k.b, doubtShare-1); got != k.ours {
			t.Errorf("%s: let through %v, want %v", k.what, got, k.ours)
		}
		// Of all packets with four bytes or more, one in doubtShare passes.
		if !verdict(t, Shares{1, 1, 1}, k.b, doubtShare) && len(k.b) >= 4 {
			t.Errorf("%s: never let through", k.what)
		}
	}
	init := typed(0x21, handshake.InitiationSize, 0)
	for random, want := range []bool{true, false, false, false, true} {
		if got := verdict(t, Shares{4, 1, 1}, init, uint32(random)); got != want {
			t.Errorf("one in four initiations: %d is let through %v", random, got)
		}
	}
	cookied := typed(0x21, handshake.InitiationSize, 0)
	cookied[len(cookied)-16] = 1
	if !verdict(t, Shares{4, 1, 1}, cookied, 1) || verdict(t, Shares{1, 4, 1}, cookied, 1) || !verdict(t, Shares{1, 4, 1}, init, 1) {
		t.Error("initiations with a cookie and without are thinned out together")
	}
	if !verdict(t, Shares{4, 1, 1}, typed(0x24, 32, 4), 1) {
		t.Error("data is thinned out with the initiations")
	}
	for _, k := range []struct {
		what   string
		b      []byte
		shares Shares
		ours   bool
	}{
		{"train of data", typed(0x24, 60_000, 4), Shares{4, 4, 4}, true},
		{"train behind a forged packet", typed(0x24, 60_000, 0), Shares{4, 1, 1}, true},
		{"train of garbage, in a flood", typed(0x24, 60_000, 0), Shares{1, 1, 4}, false},
		{"train of zeros, in a flood", make([]byte, 60_000), Shares{1, 1, 4}, false},
		{"train of initiations", typed(0x21, 40*handshake.InitiationSize, 0), Shares{1, 1, 4}, true},
		{"train of initiations, in a flood", typed(0x21, 40*handshake.InitiationSize, 0), Shares{4, 1, 1}, false},
	} {
		if got := verdict(t, k.shares, k.b, 1); got != k.ours {
			t.Errorf("%s: let through %v, want %v", k.what, got, k.ours)
		}
		if !verdict(t, k.shares, k.b, 4) {
			t.Errorf("%s: never let through", k.what)
		}
	}
}

// The filter works in the kernel, in both address families, on single packets and on
// trains.
func TestKernelRefuses(t *testing.T) {
	s := newSpace(t)
	from, to := s.open(t, Config{Ports: 1}), s.open(t, Config{Ports: 1})
	must(t, to.Refuse(testPrefix))
	r, stats := NewReceiver(new(Bank), new(RecvStats)), new(SendStats)
	sender := NewSender(from, stats)
	for _, addr := range []string{"127.0.0.1", "::1"} {
		fd := fdFor(to, addr)
		count := func() (datagrams int) {
			for d := (Datagram{}); one(r, fd, &d); datagrams++ {
			}
			return datagrams
		}
		const copies = 640
		for _, k := range kinds {
			if len(k.b) == 0 || len(k.b) > 1400 {
				continue
			}
			before := to.Refused()
			tr := train(at(to, addr), 1, len(k.b))
			tr.Buf = k.b
			for range copies {
				sender.Send(tr)
			}
			got, dropped := count(), to.Refused()-before
			if got+int(dropped) != copies {
				t.Errorf("%s to %s: %d came, %d dropped, %d sent", k.what, addr, got, dropped, copies)
			}
			// Of 640 refused packets 10 are expected: one in doubtShare.
			if k.ours && got != copies || !k.ours && got > 40 {
				t.Errorf("%s to %s: %d of %d came", k.what, addr, got, copies)
			}
		}
		// The first packet of a short merged train decides about the train. A long train passes.
		good, bad := typed(0x24, 600, 4), make([]byte, 600)
		for _, k := range []struct {
			packets [][]byte
			came    bool
		}{{[][]byte{good, bad}, true}, {[][]byte{bad, good, good}, true}} {
			tr := train(at(to, addr), len(k.packets), 600)
			tr.Buf = bytes.Join(k.packets, nil)
			sender.Send(tr)
			var d Datagram
			if ok := one(r, fd, &d); ok != k.came || !bytes.Equal(d.Data, tr.Buf) || d.Segment != 600 {
				t.Errorf("train to %s: came %v, %d bytes of %d each", addr, ok, len(d.Data), d.Segment)
			}
		}
	}
}

// The filter may be replaced while packets arrive.
func TestThinWhileReceiving(t *testing.T) {
	s := newSpace(t)
	from, to := s.open(t, Config{Ports: 1}), s.open(t, Config{Ports: 1})
	must(t, to.Refuse(testPrefix))
	init := typed(0x21, handshake.InitiationSize, 0)
	send := func() {
		for range 640 {
			must(t, unix.Sendto(from.Socket(0).FDs()[0], init, 0, &unix.SockaddrInet4{Port: int(to.Socket(0).Port), Addr: [4]byte{127, 0, 0, 1}}))
		}
	}
	for _, k := range []struct {
		share       uint32
		least, most uint64
	}{{1, 0, 0}, {4, 400, 560}, {64, 600, 640}, {1, 0, 0}} {
		must(t, to.Thin(0, Shares{k.share, 1, 1}))
		before := to.Refused()
		send()
		if got := to.Refused() - before; got < k.least || got > k.most {
			t.Errorf("one in %d: %d of 640 refused", k.share, got)
		}
		r := NewReceiver(new(Bank), new(RecvStats))
		for d := (Datagram{}); one(r, to.Socket(0).FDs()[0], &d); {
		}
	}
}
