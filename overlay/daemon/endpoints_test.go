package daemon

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/config"
)

// nameServer is a DNS server. It answers a query for IPv4 addresses with addrs, and any other query
// with no address. If addrs is empty, it is unreachable.
type nameServer struct{ addrs []string }

// use makes n the resolver of the test.
func (n *nameServer) use(t *testing.T) {
	old := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = old })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		if len(n.addrs) == 0 {
			return nil, errors.New("the network is down")
		}
		near, far := net.Pipe()
		go n.answer(far, n.addrs)
		return near, nil
	}}
}

// answer reads one query in the format of DNS over TCP, which begins with two bytes of length (RFC
// 1035, section 4.2.2). Then it writes the response.
func (n *nameServer) answer(c net.Conn, addrs []string) {
	defer c.Close()
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return
	}
	b := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(c, b); err != nil {
		return
	}
	end := 12 // end of the question section: a name of labels, then type and class
	for b[end] != 0 {
		end += 1 + int(b[end])
	}
	const typeA = 1
	isA := binary.BigEndian.Uint16(b[end+1:]) == typeA
	b = b[:end+5]
	b[2], b[3] = 0x81, 0x80        // flags: a response; recursion desired and available
	copy(b[6:12], make([]byte, 6)) // counts of the other sections: no records
	if isA {
		b[7] = byte(len(addrs))
		for _, a := range addrs {
			// The resource record: a pointer to the name in the question, type A, class IN, a TTL
			// of 60 s, and four bytes of data.
			b = append(b, 0xc0, 12, 0, typeA, 0, 1, 0, 0, 0, 60, 0, 4)
			b = append(b, netip.MustParseAddr(a).AsSlice()...)
		}
	}
	_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...))
}

// If lookups of a name fail, the name keeps its addresses. A different answer replaces them. The
// order of the addresses in an answer has no effect.
func TestNamesHoldUntilAnotherAnswer(t *testing.T) {
	cfg := parse(t, "localhost", "peer.example")
	i := slices.IndexFunc(cfg.Peers, func(p config.Peer) bool {
		return slices.ContainsFunc(p.Endpoints, func(e config.Endpoint) bool { return e.Host == "peer.example" })
	})
	if i < 0 {
		t.Fatal("no peer has the name")
	}
	p := &peer{remote: remote{found: map[config.Endpoint][]netip.AddrPort{}}}
	p.conf.Store(&cfg.Peers[i])
	s := newServer(cfg, newEventLog(false))
	s.running.Store(&snapshot{cfg: cfg, peers: []*peer{p}})
	var dns nameServer
	dns.use(t)
	for _, c := range []struct {
		answer, want []string
	}{
		{nil, nil},
		{[]string{"192.0.2.2", "192.0.2.1"}, []string{"192.0.2.1", "192.0.2.2"}},
		{nil, []string{"192.0.2.1", "192.0.2.2"}},
		{[]string{"192.0.2.1", "192.0.2.2"}, []string{"192.0.2.1", "192.0.2.2"}},
		{[]string{"192.0.2.3"}, []string{"192.0.2.3"}},
		{nil, []string{"192.0.2.3"}},
	} {
		dns.addrs = c.answer
		again := lookupEvery
		if c.answer == nil {
			again = lookupRetry
		}
		if wait := s.endpoints.takeAnswers(s.endpoints.lookup(t.Context())); wait != again {
			t.Errorf("answer %v: again after %v, want %v", c.answer, wait, again)
		}
		var got []string
		for _, a := range p.remotes() {
			got = append(got, a.Addr().String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("answer %v: at %v, want %v", c.answer, got, c.want)
		}
	}
}

// The daemon reports a missing interface once, and again if it has been present in between.
func TestMissingLocalIsTold(t *testing.T) {
	s := newServer(&config.Config{Paths: config.Paths{Local: []config.Local{{Interface: "srdnone0"}, {Interface: "lo"}}}}, newEventLog(false))
	for range 3 {
		s.endpoints.reportLocals()
	}
	said := texts(s.log)
	if len(said) != 1 || !strings.Contains(said[0], "srdnone0") {
		t.Errorf("said %q, want one line about srdnone0", said)
	}
	clear(s.endpoints.conditions)
	s.endpoints.reportLocals()
	if said = texts(s.log); len(said) != 2 {
		t.Errorf("%d lines after it was lost again, want 2", len(said))
	}
}

// Names are looked up in parallel: a slow resolver costs its delay only once.
func TestNamesAreLookedUpAtOnce(t *testing.T) {
	release := make(chan struct{})
	waiting := make(chan struct{}, lookupAtOnce)
	old := net.DefaultResolver
	defer func() { net.DefaultResolver = old }()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		select {
		case waiting <- struct{}{}:
		default:
		}
		<-release
		return nil, errors.New("the network is down")
	}}
	s, peers := newServer(&config.Config{}, newEventLog(false)), []*peer(nil)
	for _, name := range []string{"one.example", "two.example", "three.example"} {
		p := &peer{}
		p.conf.Store(&config.Peer{Endpoints: []config.Endpoint{{Host: name, Port: 1}}})
		peers = append(peers, p)
	}
	s.running.Store(&snapshot{peers: peers})
	done := make(chan []answer)
	go func() { done <- s.endpoints.lookup(t.Context()) }()
	for range peers {
		<-waiting // blocks for ever unless that many lookups run at the same time
	}
	close(release)
	if v := <-done; len(v) != len(peers) || v[0].err == nil {
		t.Errorf("answers %+v", v)
	}
}
