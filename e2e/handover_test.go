package e2e

import (
	"encoding/json"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// maxHandedOver bounds the time from the end of a hub's process to traffic with the last of its
// spokes, when sessions go on.
const maxHandedOver = 700 * time.Millisecond

// TestHubIsRestartedAsAService restarts a hub as systemd does: the next process goes on with all
// fifty sessions. Nobody shakes hands.
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
	echo, err := hub.Host.ListenPacket("udp", netip.AddrPortFrom(tunnel.Inner4(1), 7000).String())
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go meter.Answer(echo)
	var beats []*pulse
	for i, n := range all {
		beats = append(beats, beat(t, n.Host, tunnel.Inner4(i+2), netip.AddrPortFrom(tunnel.Inner4(1), 7000)))
	}
	for range 3 {
		before := time.Now()
		for _, b := range beats {
			b.answered(t, before)
		}
		time.Sleep(remembered) // and handshakes are old enough to be told from new ones
		met := handshakesOf(t, hub)
		from := time.Now()
		if err := hub.Stop(); err != nil {
			t.Fatal(err)
		}
		ended := time.Since(from)
		if err := hub.StartUnder(m); err != nil {
			t.Fatal(err)
		}
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
		for name, at := range handshakesOf(t, hub) {
			if d := at - met[name]; d < -1 || d > 1 {
				t.Errorf("%s shook hands %d s after the last time", name, d)
			}
		}
	}
}

// handshakesOf returns when n last shook hands with each of its peers, in seconds since 1970.
func handshakesOf(t *testing.T, n *tunnel.Node) map[string]int64 {
	t.Helper()
	out, err := n.Show()
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Peers []struct {
			Name   string `json:"name"`
			Latest int64  `json:"latest_handshake_unix_s"`
		} `json:"peers"`
	}
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatal(err)
	}
	all := map[string]int64{}
	for _, p := range v.Peers {
		all[p.Name] = p.Latest
	}
	return all
}
