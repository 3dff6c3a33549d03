package e2e

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// inVXLAN is the address of node i (from 1) in the network on top of the tunnel.
func inVXLAN(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 88, 0, byte(i)}) }

// vxlan connects both hosts by a VXLAN over the tunnel. The VXLAN has no outer checksums, as in
// container networks.
func vxlan(t *testing.T, a, b *fabric.Host) {
	t.Helper()
	for i, h := range []*fabric.Host{a, b} {
		do(t, h, fmt.Sprintf("ip link add vx0 type vxlan id 7 dstport 4789 noudpcsum local %s remote %s", tunnel.Inner4(i+1), tunnel.Inner4(2-i)))
		do(t, h, fmt.Sprintf("ip addr add %s/24 dev vx0 && ip link set vx0 up", inVXLAN(i+1)))
	}
	command(t, a, "ping", "-n", "-q", "-c1", "-W5", inVXLAN(2).String())
}

// tunnelFrames returns the numbers of encapsulated super-frames that a node has read and written.
func tunnelFrames(t *testing.T, n *tunnel.Node) (read, written uint64) {
	t.Helper()
	text, err := n.Show()
	must(t, err)
	var st struct {
		Device struct {
			Whole   bool   `json:"tunnel_super_frames"`
			Read    uint64 `json:"read_tunnel_super_frames"`
			Written uint64 `json:"written_tunnel_super_frames"`
			Cut     uint64 `json:"cut_super_frames"`
			Refused uint64 `json:"write_refused"`
		}
		Peers []struct {
			Queue struct {
				Cut uint64 `json:"cut_super_frames"`
			}
		}
	}
	must(t, json.Unmarshal(text, &st))
	t.Logf("%s: %+v", n.Name, st)
	if !st.Device.Whole || st.Device.Cut != 0 || st.Device.Refused != 0 || st.Peers[0].Queue.Cut != 0 {
		t.Errorf("%s does not carry super-frames of tunnels whole", n.Name)
	}
	return st.Device.Read, st.Device.Written
}

// minVXLAN is the minimum goodput of TCP in VXLAN, as a fraction of plain TCP's goodput. On an idle
// machine the fraction is above nine tenths. Without super-frames it was three tenths.
const minVXLAN = 0.6

// The test measures a TCP connection with and without VXLAN, in turns, on a cable without a rate
// limit.
func TestVXLANIsFast(t *testing.T) {
	long(t)
	d := direct(t, fabric.DirectSpec{WireLike: true})
	p, err := tunnel.NewPair(bin, d.A, d.B, tunnel.Config{}, false)
	if p != nil {
		cleanUp(t, p)
	}
	must(t, err)
	vxlan(t, d.A, d.B)
	var shares []float64
	for range 5 {
		var rate [2]float64
		for i, to := range []netip.Addr{tunnel.Inner4(2), inVXLAN(2)} {
			got, err := meter.Iperf(d.B, d.A, to, "-t", "2", "-O", "1")
			must(t, err)
			rate[i] = got.Forward
		}
		t.Logf("%.0f Mbit/s, in VXLAN %.0f", rate[0]/1e6, rate[1]/1e6)
		shares = append(shares, rate[1]/rate[0])
	}
	slices.Sort(shares)
	t.Logf("shares %.2f", shares)
	if median := shares[len(shares)/2]; median < minVXLAN {
		t.Errorf("in VXLAN %.2f of what it is without, want %.2f", median, minVXLAN)
	}
	read, _ := tunnelFrames(t, p.A)
	_, written := tunnelFrames(t, p.B)
	if read == 0 || written == 0 {
		t.Errorf("%d super-frames were read, %d written", read, written)
	}
}

// A TCP connection in VXLAN must use all paths, and continue when one path fails.
func TestVXLANOverAllPaths(t *testing.T) {
	f := network(t, links)
	p := pair(t, f, tunnel.Config{})
	vxlan(t, f.A(1), f.B(1))
	fl := flow(f, 1)
	fl.To = inVXLAN(2)
	o := blackhole(t, f, fl)
	if o.Before < minGoodput || o.Stall > maxStall || o.Share < minShare {
		t.Errorf("want at least %.0f Mbit/s before, a stall of at most %v and %.0f %% during the outage", minGoodput/1e6, maxStall, minShare*100)
	}
	tunnelFrames(t, p.A)
}

// lossOfOne is the loss of one flow, in packets per thousand.
const lossOfOne = 20

// Sixteen connections share one VXLAN. Lost packets of one connection must not stall the others.
func TestVXLANFlowsAreApart(t *testing.T) {
	long(t)
	f := network(t, links)
	pair(t, f, tunnel.Config{})
	vxlan(t, f.A(1), f.B(1))
	lossy := inVXLAN(12)
	do(t, f.B(1), fmt.Sprintf("ip addr add %s/24 dev vx0", lossy))
	do(t, f.B(1), fmt.Sprintf("nft 'table ip lossy { chain i { type filter hook input priority 0; ip daddr %s numgen random mod 1000 < %d drop; }; }'", lossy, lossOfOne))
	many := flow(f, 15)
	many.To, many.For = inVXLAN(2), 8*time.Second
	r, err := meter.Start(many)
	must(t, err)
	one, err := f.B(1).Start("iperf3", "-s", "-1", "-p", "5202")
	must(t, err)
	defer one.Kill()
	must(t, meter.AwaitListener(f.B(1).Namespace, one, "5202"))
	out, err := f.A(1).Run("timeout", "30", "iperf3", "-c", lossy.String(), "-p", "5202", "-t", "6")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	must(t, r.Wait())
	sum := r.Sum().Mean(2*time.Second, 6*time.Second)
	worst := time.Duration(0)
	for _, s := range r.Streams() {
		worst = max(worst, s.Stall(2*time.Second, 6*time.Second, sum/15))
	}
	t.Logf("the others: %.0f Mbit/s, the longest stall of one %v", sum/1e6, worst)
	if sum < minGoodput*0.9 || worst > maxFlow {
		t.Errorf("want %.0f Mbit/s and no stall above %v", minGoodput*0.9/1e6, maxFlow)
	}
}
