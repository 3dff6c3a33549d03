package fabric

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDirect sends over each cable, and checks which of the two ends segment packets.
func TestDirect(t *testing.T) {
	for _, wireLike := range []bool{false, true} {
		d, err := NewDirect(DirectSpec{Links: 4, WireLike: wireLike})
		must(t, err)
		t.Cleanup(func() { d.Close() })
		for k, to := range d.B.V4 {
			if route, err := d.A.Run("ip", "route", "get", to.String()); err != nil || !strings.Contains(route, fmt.Sprintf("dev eth%d src %s", k, d.A.V4[k])) {
				t.Errorf("way to %s: %v %s", to, err, route)
			}
			for _, h := range []*Host{d.A, d.B} {
				offloads, err := h.Run("ethtool", "-k", fmt.Sprintf("eth%d", k))
				whole := strings.Contains(offloads, "tcp-segmentation-offload: on") && strings.Contains(offloads, "tx-udp-segmentation: on")
				if err != nil || whole == wireLike {
					t.Errorf("eth%d of %s, wire-like %v: %v\n%s", k, h.Name, wireLike, err, offloads)
				}
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(netnsDir, d.A.Name)); err == nil {
			t.Errorf("%s is left behind", d.A.Name)
		}
	}
}

// TestDirectSwitch sends through the switch, and counts the packets at the switch's ports.
func TestDirectSwitch(t *testing.T) {
	d, err := NewDirect(DirectSpec{WireLike: true, Switch: true})
	must(t, err)
	t.Cleanup(func() { d.Close() })
	if _, err := d.Switch.Run("tc", "qdisc", "add", "dev", SwitchToB, "root", "tbf", "rate", "8kbit", "burst", "50", "limit", "60"); err != nil {
		t.Fatal(err)
	}
	if err := d.A.pingOnce(d.B.V4[0]); err == nil {
		t.Error("a port that takes nothing larger than 60 bytes lets a ping pass")
	}
}

func TestDirectBounds(t *testing.T) {
	for _, links := range []int{-1, maxLinks + 1} {
		if d, err := NewDirect(DirectSpec{Links: links}); err == nil {
			d.Close()
			t.Errorf("%d links are accepted", links)
		}
	}
	if d, err := NewDirect(DirectSpec{Links: 2, Switch: true}); err == nil {
		d.Close()
		t.Error("a switch with two cables to each host is accepted")
	}
}
