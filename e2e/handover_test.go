package e2e

import (
	"errors"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

const (
	// maxHandedOver bounds the time from the end of a hub's process to traffic with its last
	// spoke.
	maxHandedOver = 700 * time.Millisecond
	// maxRestartPause bounds the longest round-trip time of a ping while one end is restarted.
	maxRestartPause = 500 * time.Millisecond
)

// bothEnds returns two nodes with each other's endpoints. The nodes do not run yet.
func bothEnds(t *testing.T, f *fabric.Fabric) (both []*tunnel.Node) {
	t.Helper()
	for i, h := range []*fabric.Host{f.A(1), f.B(1)} {
		both = append(both, node(t, h, string(rune('a'+i)), tunnel.Config{Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(i+1), 24)}}))
	}
	for i, n := range both {
		far := both[1-i]
		n.Config.Peers = []tunnel.Peer{{
			Name: "far", PublicKey: far.PublicKey, AllowedIPs: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(2-i), 32)},
			Endpoints: []netip.AddrPort{netip.AddrPortFrom(far.Host.Addr4(), tunnel.DefaultPort)},
		}}
	}
	return both
}

// TestRestartLosesNoPing restarts one end as systemd does, while 20 pings per second are sent in
// each direction.
func TestRestartLosesNoPing(t *testing.T) {
	f := network(t, fabric.Spec{})
	both := bothEnds(t, f)
	m, err := tunnel.NewManager(both[0])
	must(t, err)
	t.Cleanup(m.Close)
	must(t, errors.Join(both[0].StartUnder(m), both[1].Start()))
	must(t, both[1].Await(tunnel.Inner4(1)))
	for round := range 3 {
		type result struct {
			out string
			err error
		}
		results := make(chan result, len(both))
		for i, n := range both {
			go func() {
				out, err := n.Host.Run("ping", "-n", "-q", "-i", "0.05", "-c", "60", "-W", "2", tunnel.Inner4(2-i).String())
				results <- result{out, err}
			}()
		}
		time.Sleep(time.Second)
		must(t, errors.Join(both[0].Stop(), both[0].StartUnder(m)))
		for range both {
			r := <-results
			longest := pingMax.FindStringSubmatch(r.out)
			if r.err != nil || longest == nil || !strings.Contains(r.out, " 0% packet loss") {
				t.Fatalf("round %d: %v\n%s", round, r.err, r.out)
			}
			ms, err := strconv.ParseFloat(longest[1], 64)
			must(t, err)
			t.Logf("round %d: longest %.1f ms", round, ms)
			if d := time.Duration(ms * float64(time.Millisecond)); d > maxRestartPause {
				t.Errorf("round %d: a ping took %v, want %v at most", round, d, maxRestartPause)
			}
		}
	}
}

// pingMax matches the longest round-trip time, in milliseconds, in the output of ping -q.
var pingMax = regexp.MustCompile(`= [0-9.]+/[0-9.]+/([0-9.]+)/`)

// TestHubIsRestartedAsAService restarts a hub as systemd does. The next process starts handshakes
// with all fifty spokes at their old addresses.
func TestHubIsRestartedAsAService(t *testing.T) {
	long(t)
	var m *tunnel.Manager
	hub, all := wheel(t, func(hub *tunnel.Node) (err error) {
		if m, err = tunnel.NewManager(hub); err != nil {
			return err
		}
		t.Cleanup(m.Close)
		return hub.StartUnder(m)
	})
	beats := beatAll(t, hub, all)
	for range 3 {
		before := time.Now()
		for _, b := range beats {
			b.answered(t, before)
		}
		from := time.Now()
		must(t, hub.Stop())
		ended := time.Since(from)
		must(t, hub.StartUnder(m))
		ready := time.Since(from)
		var took []time.Duration
		for _, b := range beats {
			took = append(took, b.answered(t, from.Add(ended)))
		}
		slices.Sort(took)
		t.Logf("ended after %v, the next ready after %v; traffic after %v, %v and %v (first, median, last)", ended, ready, took[0], took[len(took)/2], took[len(took)-1])
		if last := took[len(took)-1]; last > maxHandedOver {
			t.Errorf("the last spoke after %v, want %v", last, maxHandedOver)
		}
	}
}

// handshakesOf returns the time of the last handshake of n with each of its peers, in seconds since
// 1970.
func handshakesOf(t *testing.T, n *tunnel.Node) map[string]int64 {
	t.Helper()
	var v struct {
		Peers []struct {
			Name   string `json:"name"`
			Latest int64  `json:"latest_handshake_unix_s"`
		} `json:"peers"`
	}
	statusOf(t, n, &v)
	all := map[string]int64{}
	for _, p := range v.Peers {
		all[p.Name] = p.Latest
	}
	return all
}
