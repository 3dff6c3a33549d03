package lab

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
)

// on runs the only case of a plan with the given host model.
func on(t testing.TB, host, text string) (*Result, *run) {
	t.Helper()
	p := plan(t, text)
	m, err := HostNamed(host)
	must(t, err)
	r := newRun(p, &p.Cases[0], p.Seeds[0])
	r.on = m
	must(t, r.prepare())
	r.play()
	return r.result(), r
}

// On hosts that model a process, a flow begins with a handshake and with wake-ups of the processes.
// It completes, but takes longer than on ideal hosts. The larger the delays of the process are, the
// longer it takes.
func TestDaemonsAreSlower(t *testing.T) {
	var before float64
	for _, host := range []string{"ideal", "daemon-20us", "daemon"} {
		r, _ := on(t, host, head+network+lone)
		f := r.Flows[0]
		if f.Delivered != f.Size || f.FCT <= before {
			t.Errorf("%s: %d bytes in %.0f us, before it %.0f us", host, f.Delivered, f.FCT, before)
		}
		before = f.FCT
	}
}

// Before its first flow starts, a daemon knows nothing about the network.
func TestDaemonsBeginCold(t *testing.T) {
	p := plan(t, head+network+lone)
	m, _ := HostNamed("daemon")
	r := newRun(p, &p.Cases[0], 1)
	r.on = m
	must(t, r.prepare())
	for _, l := range r.net.Links() {
		if l.Packets > 0 {
			t.Fatalf("%s has carried %d packets before time zero", l.Name(), l.Packets)
		}
	}
}

// Two runs with the same seed give the same result on hosts that model a process, too.
func TestDaemonsAreDeterministic(t *testing.T) {
	a, _ := on(t, "daemon-busy", head+network+lone)
	b, _ := on(t, "daemon-busy", head+network+lone)
	if a.Hash != b.Hash {
		t.Errorf("two runs of one seed: %s and %s", a.Hash, b.Hash)
	}
}

// TCP runs in the kernel, so it wakes no process. A case with only TCP flows is run on one host
// model only.
func TestKernelHasNoProcess(t *testing.T) {
	p := plan(t, head+network+"[transport.tcp]\nkind = \"tcp\"\nmtu = 9000\n"+lone)
	c := p.Cases[0]
	if v := p.HostsOf(&c); len(v) != 1 || v[0].Name != "daemon" {
		t.Errorf("hosts of srd: %v", v)
	}
	c.Transport = "tcp"
	if v := p.HostsOf(&c); len(v) != 1 || v[0] != Ideal {
		t.Errorf("hosts of tcp: %v", v)
	}
}

// The queues of the sockets and of the interface have bounded capacities.
func TestProcessHasBoundedRoom(t *testing.T) {
	e := net.NewEngine(1, nil)
	h := &srdHost{Host: newHost(e, 0, address(0)), srd: &SRD{cfg: SRDConfig{MTU: 9000}}}
	h.Up = e.NewLink("h0>", net.Quality{Rate: 1e6, Queue: nicQueue}, h)
	p := &process{host: h, delays: &delays{arrival: inverse{{0, time.Second}, {1, time.Second}}}, rng: e.Fork(), share: 1,
		waiting: make(map[uint16]int)}
	const each = 8000
	for range 2 * socketRoom / each {
		q := e.NewPacket()
		q.Data = append(q.Data, make([]byte, each)...)
		p.arrive(q)
	}
	if n := p.waiting[0]; n > socketRoom || p.Overflow < socketRoom/each {
		t.Errorf("%d bytes wait, %d packets were dropped", n, p.Overflow)
	}
	q := e.NewPacket()
	q.Data, q.Dst = append(q.Data, make([]byte, each)...), netip.AddrPortFrom(address(0), 1)
	if p.arrive(q); p.waiting[1] == 0 {
		t.Error("another port's socket has no room")
	}
	p.train = newTestTrain(each, nicRoom/each/2)
	for range 4 {
		p.transmit()
	}
	if w := h.Up.Waiting(); w > nicRoom+each || p.NoBuffer == 0 {
		t.Errorf("%d bytes wait in the interface, %d packets were dropped", w, p.NoBuffer)
	}
}

// The recorded tables are valid distributions. A drawn value is within the range of its
// distribution.
func TestRecordedDelays(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for name := range recorded {
		m, err := HostNamed(name)
		must(t, err)
		v := m.delays.timer
		var below int
		const draws = 10000
		median := v[len(v)/2].time
		for range draws {
			d := v.draw(rng)
			if d < v[0].time || d > v[len(v)-1].time {
				t.Fatalf("%s: %v is not in the table", name, d)
			}
			if d <= median {
				below++
			}
		}
		want := int(v[len(v)/2].share * draws)
		if below < want-draws/50 || below > want+draws/50 {
			t.Errorf("%s: %d of %d draws are no longer than %v, want %d", name, below, draws, median, want)
		}
	}
	if _, err := HostNamed("mainframe"); err == nil {
		t.Error("a host that nobody knows")
	}
}

// The error of an invalid table names the fault and its line.
func TestDelaysErrors(t *testing.T) {
	const good = "send-train 1us\nquantile 0 1us 1us\nquantile 1 2us 3us\n"
	if _, err := parseDelays("f", good); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{"", "quantiles from 0 to 1"},
		{"quantile 0 1us 1us\n", "quantiles from 0 to 1"},
		{good + "quantile 1 1us 1us\n", "does not follow"},
		{"quantile 0 2us 1us\nquantile 1 1us 1us\n", "does not follow"},
		{good + "quantile\n", "f:4"},
		{good + "quantile x 1us 1us\n", "no share"},
		{good + "send-train soon\n", "no time"},
		{good + "send-train -1us\n", "no time"},
		{good + "send-elephant 1us\n", "want"},
	} {
		if _, err := parseDelays("f", c[0]); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%q: %v, want %q", c[0], err, c[1])
		}
	}
}

// newTestTrain returns a train of n packets.
func newTestTrain(size, n int) *srd.Train {
	return &srd.Train{
		Tuple: srd.Tuple{Remote: netip.AddrPortFrom(address(1), firstPort)}, Size: size, Buf: make([]byte, size*n),
	}
}
