package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
	"github.com/srdtun/srdtun/overlay/control"
)

// deviceOf returns the counters of a node's device.
func deviceOf(t *testing.T, n *tunnel.Node) control.Device {
	t.Helper()
	text, err := n.Show()
	must(t, err)
	var st control.Status
	must(t, json.Unmarshal(text, &st))
	return st.Device
}

// bulk sends one TCP flow from A to B.
func bulk(t *testing.T, d *fabric.Direct) {
	t.Helper()
	r, err := meter.Start(meter.Flow{Client: d.A, Server: d.B, To: tunnel.Inner4(2), For: 2 * time.Second})
	must(t, err)
	must(t, r.Wait())
	if sum := r.Sum().Mean(0, 2*time.Second); sum < 1e6 {
		t.Errorf("%.0f bit/s", sum)
	}
}

// TestSinglePacketsAreNamed disables super-frames without the daemon's knowledge, as a kernel with
// AccECN does. A counter, "doctor" and "show" must report this.
func TestSinglePacketsAreNamed(t *testing.T) {
	side(t)
	d := direct(t, fabric.DirectSpec{})
	p, err := tunnel.NewPair(bin, d.A, d.B, tunnel.Config{Extra: "[metrics]\nlisten = \"" + metricsAt + "\"\n"}, false)
	if p != nil {
		cleanUp(t, p)
	}
	must(t, err)
	if got := cli(t, d.A, "doctor"); !regexp.MustCompile(`(?m)^ok +inner TCP `).MatchString(got) {
		t.Errorf("doctor:\n%s", got)
	}
	command(t, d.A, "ethtool", "-K", p.A.Name, "tso", "off", "gso", "off")
	bulk(t, d)
	v := deviceOf(t, p.A)
	if !v.Singly() || v.OfAccECN() {
		t.Errorf("without super-frames: %+v", v)
	}
	told := cli(t, d.A, "doctor")
	wants(t, "doctor", told, fmt.Sprintf("on %s %d packets came one by one", p.A.Name, v.ReadSingles))
	wants(t, "doctor", told, "ethtool -K "+p.A.Name+" tso on gso on")
	wants(t, "show", cli(t, d.A, "show", p.A.Name), "read one by one: see srdtun doctor")
	metrics := fetch(t, d.A, "http://"+metricsAt+"/metrics")
	m := regexp.MustCompile(`(?m)^srdtun_device_read_single_tcp_packets_total\{.*\} (\S+)$`).FindStringSubmatch(metrics)
	if m == nil {
		t.Fatalf("no counter in\n%s", metrics)
	}
	if n, err := strconv.ParseFloat(m[1], 64); err != nil || n < float64(v.ReadSingles) {
		t.Errorf("the counter is %s, want %d", m[1], v.ReadSingles)
	}
}

// TestOffloadOff sends a flow in each direction between an end with offload = false and an end with
// the default.
func TestOffloadOff(t *testing.T) {
	side(t)
	for _, off := range []bool{true, false} { // at the end that sends
		d := direct(t, fabric.DirectSpec{})
		config := tunnel.Config{Extra: fmt.Sprintf("offload = %v\n", !off)}
		p, err := tunnel.NewPair(bin, d.A, d.B, config, false)
		if p != nil {
			cleanUp(t, p)
		}
		must(t, err)
		p.B.Stop()
		p.B.Config.Extra = fmt.Sprintf("offload = %v\n", off)
		must(t, p.B.Start())
		must(t, p.A.Await(tunnel.Inner4(2)))
		bulk(t, d)
		a, b := deviceOf(t, p.A), deviceOf(t, p.B)
		if a.NoOffload != off || b.NoOffload == off || (a.ReadSuperFrames == 0) != off || (b.WrittenSuperFrames == 0) == off ||
			b.WriteRefused+b.WriteErrors != 0 || a.Singly() {
			t.Errorf("off %v: A %+v\nB %+v", off, a, b)
		}
		if got := cli(t, d.A, "doctor", p.A.File); strings.Contains(got, "because offload = false") != off {
			t.Errorf("off %v, doctor:\n%s", off, got)
		}
	}
}
