package workload

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// text returns the content of a file in lab/testdata.
func text(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The parser must accept every file of the published measurements, and the result must match the
// file's description.
func TestTopologyFiles(t *testing.T) {
	for name, want := range map[string]struct {
		nodes, pods int
		switches    []int
		rate        float64
	}{
		"ls32.topo":                    {32, 1, []int{2, 16}, 12.5e9},
		"fat_tree_128_1os.topo":        {128, 8, []int{32, 32, 16}, 12.5e9},
		"fat_tree_32_1os_2t_400g.topo": {32, 1, []int{8, 4}, 50e9},
	} {
		top, err := ParseTopology(name, text(t, name))
		if err != nil {
			t.Error(err)
			continue
		}
		var n []int
		for i := range top.Tiers {
			n = append(n, top.Switches(i))
			if x := top.Tiers[i]; x.Rate != want.rate || x.Latency != time.Microsecond {
				t.Errorf("%s tier %d: %+v", name, i, x)
			}
		}
		if top.Nodes != want.nodes || top.Pods() != want.pods || len(n) != len(want.switches) {
			t.Errorf("%s: %d nodes, %d pods, switches %v", name, top.Nodes, top.Pods(), n)
			continue
		}
		for i := range n {
			if n[i] != want.switches[i] {
				t.Errorf("%s: switches %v, want %v", name, n, want.switches)
			}
		}
	}
}

func TestMatrixFiles(t *testing.T) {
	for name, want := range map[string]struct {
		nodes, flows int
		bytes        int64
	}{
		"incast_128.cm":         {128, 127, 127 * 2_000_000},
		"perm_128n_128c_2MB.cm": {128, 128, 128 * 2_000_000},
		"perm_32n_32c_8MiB.cm":  {32, 32, 32 * 8 << 20},
		"rack8x1_16M.cm":        {32, 8, 8 * 16 << 20},
		"srd_incast48_64K.cm":   {32, 48, 48 * 64 << 10},
		"srd_incast48_2M.cm":    {32, 48, 48 * 2 << 20},
		"srd_incast48_8M.cm":    {32, 48, 48 * 8 << 20},
	} {
		m, err := ParseMatrix(name, text(t, name))
		if err != nil {
			t.Error(err)
			continue
		}
		var sum int64
		for _, f := range m.Flows {
			sum += f.Size
		}
		if m.Nodes != want.nodes || len(m.Flows) != want.flows || sum != want.bytes {
			t.Errorf("%s: %d nodes, %d flows, %d bytes", name, m.Nodes, len(m.Flows), sum)
		}
	}
	m, _ := ParseMatrix("perm", text(t, "perm_32n_32c_8MiB.cm"))
	if f := m.Flows[1]; f != (Flow{Src: 5, Dst: 25, ID: 2, Size: 8 << 20}) {
		t.Errorf("second flow: %+v", f)
	}
}

func TestFaultFiles(t *testing.T) {
	f, err := ParseFaults("fail", text(t, "fail_one_cable.txt"))
	if want := (Element{On: true, Period: 100 * time.Microsecond, Most: 1}); err != nil || f.Cable.Fail != want || f.Cable.BER.On {
		t.Errorf("%+v, %v", f, err)
	}
	f, err = ParseFaults("ber", text(t, "ber_cable_one_percent.txt"))
	if want := (Element{On: true, Period: 10 * time.Nanosecond, Most: 0.01}); err != nil || f.Cable.BER != want || f.Cable.Fail.On {
		t.Errorf("%+v, %v", f, err)
	}
}

// The parser must accept all keys of the artifact's two versions. A duration is valid only if it is
// enabled.
func TestAllKindsOfFaultFiles(t *testing.T) {
	f, err := ParseFaults("all", "Random-Packet-Drop: ON\nRandom-Packet-Drop-Rate: 4\nStop-Failures-After: 9000000\n"+
		"Switch-Fail: ON\nSwitch-Fail-Duration: ON\nSwitch-Fail-Duration-Time: 5000000\n"+
		"Cable-Fail-Duration: OFF\nCable-Fail-Duration-Time: 5000000\n"+
		"NIC-Degradation: ON\nNIC-Degradation-Percent: 0.25\nNIC-Degradation-Max-Percent: 0.1\n"+
		"Cable-Periodic-Packet-Loss: ON\nCable-Periodic-Packet-Loss-PktNr: 3\nCable-Periodic-Packet-Loss-Drop-Period: 97\n"+
		"Cable-Worst-Case: ON\nCable-Worst-Case-Start-After: 1000\nCable-Degradation: OFF\nSwitch-BER: OFF\n")
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(f.Drop-1e-4) > 1e-12 || f.Stop != 9*time.Microsecond || f.Switch.Fail.For != 5*time.Microsecond || f.Cable.Fail.For != 0 {
		t.Errorf("%+v", f)
	}
	if want := (Element{On: true, Percent: 0.25, Most: 0.1}); f.NIC.Degradation != want {
		t.Errorf("%+v", f.NIC.Degradation)
	}
	if want := (Element{On: true, Burst: 3, Gap: 97}); f.Cable.PeriodicLoss != want {
		t.Errorf("%+v", f.Cable.PeriodicLoss)
	}
	if want := (Element{On: true, Start: time.Nanosecond}); f.Cable.WorstCase != want {
		t.Errorf("%+v", f.Cable.WorstCase)
	}
}

// parsers contains all parsers by the kind of file.
var parsers = map[string]func(file, text string) error{
	"topo":   func(f, s string) error { _, err := ParseTopology(f, s); return err },
	"cm":     func(f, s string) error { _, err := ParseMatrix(f, s); return err },
	"cdf":    func(f, s string) error { _, err := ParseSizes(f, s); return err },
	"faults": func(f, s string) error { _, err := ParseFaults(f, s); return err },
}

// Every error must name the file, the line and the fault.
func TestErrorsNameTheLine(t *testing.T) {
	tree := "Nodes 4\nTiers 2\nTier 0\nDownlink_speed_Gbps 10\nRadix_Down 2\nRadix_Up 2\nTier 1\nDownlink_speed_Gbps 10\nRadix_Down 2\n"
	if err := parsers["topo"]("x", tree); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ kind, text, want string }{
		{"topo", "", "x:1: 0 tiers"},
		{"topo", "# nothing\nNodes 4\nColour 3", `x:3: unknown key "Colour"`},
		{"topo", "Nodes 0", "x:1: \"0\" is not a whole number"},
		{"topo", "Nodes 4 5", "3 words, want 2"},
		{"topo", "Nodes 4\nTiers 2\nTier 1", "x:3: tier 1 of 2 after 0 others"},
		{"topo", strings.Replace(tree, "Radix_Down 2", "Radix_Down 3", 1), "4 nodes do not fill"},
		{"topo", strings.Replace(tree, "Radix_Up 2", "Radix_Up 3", 1), ""},
		{"topo", strings.Replace(tree, "Radix_Up 2\n", "", 1), "no Radix_Up"},
		{"topo", tree + "Bundle 3", "bundles of 3 do not fill"},
		{"topo", tree + "Bundle 2", "links down, not 2 to each of 2"},
		{"topo", strings.Replace(tree, "Gbps 10", "Gbps NaN", 1), "x:4: \"NaN\" is not a number"},
		{"cm", "Nodes 2\nConnections 1\n0->2 size 5", `x:3: "2" is not the number of one of 2 nodes`},
		{"cm", "Nodes 2\nConnections 1\n1->1 size 5", "sends to itself"},
		{"cm", "Nodes 2\nConnections 1\n0->1 start 0", "x:3: no size"},
		{"cm", "Nodes 2\nConnections 1\n0->1 size", "a number is missing"},
		{"cm", "Nodes 2\nConnections 1\n0->1 size 5 trigger 7", `unknown word "trigger"`},
		{"cm", "Nodes 2\nConnections 2\n0->1 size 5", "x:3: 1 connections, the file says 2"},
		{"cdf", "10 0.5\n5 1", "x:2: 5 bytes"},
		{"cdf", "10 0.5\n20 0.9", "x:2: the last share is 0.9"},
		{"cdf", "10 1.5", `x:1: "1.5" is not a number from 0 to 1`},
		{"faults", "Cable-Fail: MAYBE", "neither ON nor OFF"},
		{"faults", "Cable-Fail ON", "want KEY: VALUE"},
		{"faults", "\nCable-Fail-Colour: 1", `x:2: unknown key "Cable-Fail-Colour"`},
		{"faults", "NIC-Colour: ON", "unknown key"},
		{"faults", "Random-Packet-Drop-Rate: 99", "not a number from 0 to 15"},
		{"faults", "Switch-Fail-Duration: 5", "neither ON nor OFF"},
	} {
		err := parsers[c.kind]("x", c.text)
		switch {
		case c.want == "":
			if err != nil {
				t.Errorf("%s %q: %v", c.kind, c.text, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "x:"):
			t.Errorf("%s %q: %v, want %q", c.kind, c.text, err, c.want)
		}
	}
}

// For any text, the result must be an error that names the file, or usable: a tree with matching
// tiers, or flows between existing nodes.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"ls32.topo", "fat_tree_128_1os.topo", "rack8x1_16M.cm", "websearch.cdf", "fail_one_cable.txt"} {
		f.Add(text(f, name))
	}
	f.Fuzz(func(t *testing.T, s string) {
		for kind, parse := range parsers {
			if err := parse("x", s); err != nil && !strings.HasPrefix(err.Error(), "x:") {
				t.Errorf("%s: %v", kind, err)
			}
		}
		if top, err := ParseTopology("x", s); err == nil {
			for i := range top.Tiers {
				if top.Switches(i) < 1 {
					t.Errorf("%d switches in tier %d of %+v", top.Switches(i), i, top)
				}
			}
		}
		if m, err := ParseMatrix("x", s); err == nil {
			for _, x := range m.Flows {
				if x.Src == x.Dst || max(x.Src, x.Dst) >= m.Nodes || min(x.Src, x.Dst) < 0 || x.Size < 1 || x.Start < 0 {
					t.Errorf("%+v of %d nodes", x, m.Nodes)
				}
			}
		}
		if d, err := ParseSizes("x", s); err == nil {
			if n := d.Draw(rand.New(rand.NewPCG(1, 1))); n < 1 || n > mostBytes {
				t.Errorf("size %d", n)
			}
		}
	})
}

// Drawn sizes must have the distribution of the file.
func TestSizes(t *testing.T) {
	for _, name := range []string{"websearch.cdf", "datamining.cdf"} {
		s, err := ParseSizes(name, text(t, name))
		if err != nil {
			t.Fatal(err)
		}
		const n = 200_000
		rng := rand.New(rand.NewPCG(7, 7))
		var sum float64
		below := make([]int, len(s.bytes))
		for range n {
			x := float64(s.Draw(rng))
			sum += x
			for i, b := range s.bytes {
				if x <= b {
					below[i]++
				}
			}
		}
		for i, p := range s.below {
			if d := math.Abs(float64(below[i])/n - p); d > 0.01 {
				t.Errorf("%s: %.3f of all have %g bytes at most, want %.3f", name, float64(below[i])/n, s.bytes[i], p)
			}
		}
		if m := s.Mean(); math.Abs(sum/n-m) > 0.05*m {
			t.Errorf("%s: mean %.0f, want %.0f", name, sum/n, m)
		}
	}
	if f := Fixed(5000); f.Mean() != 5000 || f.Draw(rand.New(rand.NewPCG(1, 1))) != 5000 {
		t.Errorf("fixed sizes: mean %v", f.Mean())
	}
}

// A Poisson workload must have the requested load, and the gaps of a Poisson process.
func TestPoisson(t *testing.T) {
	const capacity, load, over = 1e9, 0.6, 20 * time.Second
	hosts := []int{3, 4, 5}
	v := Poisson(rand.New(rand.NewPCG(1, 2)), hosts, hosts, Fixed(100_000), load, capacity, over)
	var sum, squares float64
	last := time.Duration(0)
	for _, f := range v {
		if f.Src == f.Dst || f.Start < last || f.Start > over {
			t.Fatalf("%+v after %v", f, last)
		}
		gap := (f.Start - last).Seconds()
		sum, squares, last = sum+gap, squares+gap*gap, f.Start
	}
	n := float64(len(v))
	if got := n * 100_000 / over.Seconds() / capacity; math.Abs(got-load) > 0.02 {
		t.Errorf("load %.3f, want %.3f", got, load)
	}
	// The standard deviation of a Poisson process's gaps equals their mean.
	mean := sum / n
	if c := math.Sqrt(squares/n-mean*mean) / mean; math.Abs(c-1) > 0.03 {
		t.Errorf("variation of the gaps %.3f, want 1", c)
	}
}

func TestBarrier(t *testing.T) {
	v, batch := Barrier([]Flow{{Src: 0, Dst: 1, Size: 5}, {Src: 1, Dst: 2, Size: 6}}, 3)
	for i, f := range v {
		if batch[i] != i/2 || f.ID != i+1 || f.Size != int64(5+i%2) {
			t.Errorf("flow %d: %+v in batch %d", i, f, batch[i])
		}
	}
	if len(v) != 6 {
		t.Errorf("%d flows", len(v))
	}
}

// Cut must not change smaller sizes, and must reduce all others to the bound.
func TestSizesCut(t *testing.T) {
	for _, name := range []string{"websearch.cdf", "datamining.cdf"} {
		s, err := ParseSizes(name, text(t, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, most := range []int64{1, 50_000, 300_000, 1 << 40} {
			c := s.Cut(most)
			for p := 0.005; p < 1; p += 0.01 {
				if got, want := c.at(p), min(s.at(p), most); math.Abs(float64(got-want)) > 1 {
					t.Errorf("%s cut to %d: at %.3f there are %d bytes, want %d", name, most, p, got, want)
				}
			}
		}
	}
}
