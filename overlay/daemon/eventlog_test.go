package daemon

import (
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/vishvananda/netlink"
)

// ip runs ip(8).
func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// A blocked log must delay no goroutine, and later record how many events were lost. At its end the
// daemon waits for the log, but for a limited time.
func TestSlowLogHoldsNobodyUp(t *testing.T) {
	s := newEventLog(false)
	open, got := make(chan struct{}), make(chan events.Event, 4*events.Kept)
	end := s.write(func(e events.Event) {
		got <- e
		<-open
	})
	const n = events.Kept + 100
	add := func(i int) {
		// The events get times spread over an hour, because the log would leave out most of as many
		// events in a moment.
		s.change(func(l *events.Log) {
			l.Add(events.Event{Time: time.Unix(int64(10*i), 0), Kind: events.Note, Subject: fmt.Sprint(i), Text: fmt.Sprint(i)})
		})
	}
	add(0)
	<-got // the log blocks from here on
	for i := range n {
		add(i + 1)
	}
	end() // returns after lastWords
	close(open)
	var texts []string
	for len(texts) == 0 || texts[len(texts)-1] != fmt.Sprint(n) {
		texts = append(texts, (<-got).Text)
	}
	if !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "not in this log") }) {
		t.Errorf("nothing says that some are missing among %d", len(texts))
	}
}

// All events are in the log after the daemon has ended, and the socket returns the same events.
func TestStoryFromBeginningToEnd(t *testing.T) {
	run := runDir(t)
	before := state(t, run)
	r := up(t, parse(t))
	r.told(events.Started)
	c, err := control.Dial(rundir.Place{Device: "srdd0"})
	must(t, err)
	h, err := c.Events(0)
	c.Close()
	if err != nil || len(h.Events) == 0 || h.Events[0].Kind != events.Started || h.Run == "" {
		t.Errorf("asked for: %+v, %v", h, err)
	}
	r.cancel()
	r.wait()
	all := texts(r.story)
	if last := all[len(all)-1]; !strings.HasPrefix(last, "stopping ") {
		t.Errorf("at the end %q", all)
	}
	sameState(t, run, before)
}

// The daemon reports an endpoint that is its own socket, an endpoint behind its own tunnel, and an
// unknown name.
func TestEndpointsThatCannotWork(t *testing.T) {
	var dns nameServer // does not answer
	dns.use(t)
	run := runDir(t)
	before := state(t, run)
	r := up(t, parse(t,
		"127.0.0.1:5999", "127.0.0.1:5555\", \"10.81.7.7:5999",
		"localhost:5998", "nosuch.example:5998"))
	if e := r.told(events.EndpointSelf); e.Peer != "near" || !strings.Contains(e.Text, "127.0.0.1:5555") {
		t.Errorf("told %+v", e)
	}
	if e := r.told(events.RoutingLoop); e.Peer != "near" || !strings.Contains(e.Text, "10.81.7.7:5999") {
		t.Errorf("told %+v", e)
	}
	if e := r.told(events.NameUnresolved); e.Peer != "named" || !strings.Contains(e.Text, "nosuch.example:5998") {
		t.Errorf("told %+v", e)
	}
	r.cancel()
	r.wait()
	sameState(t, run, before)
}

// Of two uplinks, one first has no route to the peer, and then gets one through a policy rule.
func TestBypassedUplinkIsTold(t *testing.T) {
	uplink(t)
	second := addLink(t, &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "srdv0"}, PeerName: "srdv1"})
	for _, name := range []string{"srdv1", "srdv0"} {
		ip(t, "link", "set", name, "up")
	}
	ip(t, "addr", "add", "198.51.100.1/24", "dev", second.Attrs().Name)
	s := opened(t, "[paths]\n", "[paths]\nlocal = [\"srdw0\", \"srdv0\"]\n", "127.0.0.1:5999", "203.0.113.9:5999")
	look := func() string {
		s.change()
		s.endpoints.checkRoutes()
		all := texts(s.log)
		return all[len(all)-1]
	}
	if got := look(); !strings.HasPrefix(got, "uplink-bypassed ") || !strings.Contains(got, "srdv0 has no route to 203.0.113.9") {
		t.Errorf("told %q", got)
	}
	ip(t, "rule", "add", "from", "198.51.100.1", "table", "77")
	ip(t, "route", "add", "default", "via", "198.51.100.2", "table", "77")
	t.Cleanup(func() { ip(t, "rule", "del", "from", "198.51.100.1", "table", "77") })
	if got := look(); !strings.HasPrefix(got, "uplink-straight ") {
		t.Errorf("with a rule: told %q", got)
	}
	n := len(texts(s.log))
	look()
	if more := len(texts(s.log)); more != n {
		t.Errorf("told again: %q", texts(s.log)[n:])
	}
}

// The daemon reports that a name can be resolved again, and that a name has a new address.
func TestNamesAreTold(t *testing.T) {
	var dns nameServer
	dns.use(t)
	cfg := parse(t, "localhost", "peer.example")
	p := &peer{remote: remote{found: map[config.Endpoint][]netip.AddrPort{}}}
	p.conf.Store(&cfg.Peers[1])
	s := newServer(cfg, newEventLog(false))
	s.running.Store(&snapshot{cfg: cfg, peers: []*peer{p}})
	for _, addrs := range [][]string{nil, nil, {"192.0.2.1"}, {"192.0.2.1"}, {"192.0.2.2"}, nil} {
		dns.addrs = addrs
		s.endpoints.takeAnswers(s.endpoints.lookup(t.Context()))
	}
	var kinds []string
	for _, line := range texts(s.log) {
		kind, _, _ := strings.Cut(line, " ")
		kinds = append(kinds, kind)
	}
	if want := []string{"name-unresolved", "name-resolved", "name-moved", "name-unresolved"}; !slices.Equal(kinds, want) {
		t.Errorf("told %q, want %q", kinds, want)
	}
}
