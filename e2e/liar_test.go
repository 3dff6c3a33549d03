package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

const (
	// liarShare is the fraction of its goodput that an honest peer must keep while a liar sends.
	// For comparison, the goodput is measured while the hub's kernel refuses the same packets. Only
	// this comparison is fair, because the liar, the fabric and both ends share two processors.
	liarShare = 0.9
	// liarRounds is the number of rounds with each kind of lies, and without lies. A round of 3 s
	// has an error of up to a tenth, so the test compares medians.
	liarRounds = 3
)

// The constants bound the cost of 3 s of lies at 4 Mbit/s for the hub: processor time, memory, and
// sent bytes for each byte of the liar.
const (
	lieCost   = time.Second
	lieMemory = 32 << 20
	lieAnswer = 1.0
)

// lies are the names of the rows (see ./liar) that a liar sends.
var lies = []string{"sequence", "slots", "unfinished", "tombstones", "far", "challenges", "pings"}

// liarField is a hub with an honest spoke, and the key of another spoke for a liar.
type liarField struct {
	t        *testing.T
	f        *fabric.Fabric
	hub, two *tunnel.Node
	program  string
}

func newLiarField(t *testing.T) liarField {
	t.Helper()
	f, hub, one, two := star(t)
	two.Kill()
	program := liarProgram(t)
	must(t, one.Await(tunnel.Inner4(1)))
	return liarField{t, f, hub, two, program}
}

// lie starts the liar with lies of one kind for the time `long`.
func (l liarField) lie(row, long string, flags ...string) *fabric.Process {
	p, err := l.f.A(2).Start(l.program, append([]string{"-row", row, "-key", l.two.Config.PrivateKey, "-peer", l.hub.PublicKey,
		"-local", l.f.A(2).V4[0].String(), "-to", l.f.B(1).V4[0].String() + ":51820", "-mbit", "4", "-for", long}, flags...)...)
	if err != nil {
		l.t.Fatal(err)
	}
	return p
}

func (l liarField) end(p *fabric.Process) {
	if err := p.Wait(20 * time.Second); err != nil {
		l.t.Fatalf("%v: %s", err, p.Log.String())
	}
}

// TestLiesCostTheHubLittle lets a spoke send each kind of lies to the hub, and measures the cost
// for the hub.
func TestLiesCostTheHubLittle(t *testing.T) {
	side(t)
	l := newLiarField(t)
	for _, row := range lies {
		t.Run(row, func(t *testing.T) {
			before := usage(t, l.hub)
			p := l.lie(row, "3s")
			l.end(p)
			after := usage(t, l.hub)
			cost, grown := after.CPU-before.CPU, after.Peak-before.RSS
			var sent, answered int
			if _, err := fmt.Sscanf(p.Log.String(), "%d bytes sent, %d bytes answered", &sent, &answered); err != nil {
				t.Fatalf("%v: %s", err, p.Log.String())
			}
			t.Logf("3 s of it alone cost %v, made the hub at most %d KiB larger, and %d bytes got %d", cost, grown>>10, sent, answered)
			if cost > lieCost {
				t.Errorf("3 s of lies cost the hub %v", cost)
			}
			if grown > lieMemory {
				t.Errorf("they made the hub %d bytes larger", grown)
			}
			if float64(answered) > lieAnswer*float64(sent) {
				t.Errorf("it answers %d bytes with %d", sent, answered)
			}
		})
	}
}

// TestPeersThatLie lets a spoke send lies to the hub while the other spoke sends honest traffic.
func TestPeersThatLie(t *testing.T) {
	long(t)
	l := newLiarField(t)
	goodput := func() float64 {
		run, err := meter.Start(meter.Flow{Server: l.f.B(1), Client: l.f.A(1), To: tunnel.Inner4(1), For: 3 * time.Second})
		must(t, err)
		defer run.Stop()
		must(t, run.Wait())
		return run.Sum().Mean(time.Second, 3*time.Second) / 1e6
	}
	beside := func(row string, flags ...string) float64 {
		p := l.lie(row, "4500ms", flags...)
		time.Sleep(500 * time.Millisecond)
		defer l.end(p)
		return goodput()
	}
	var refused []float64
	with := make([][]float64, len(lies))
	for round := range liarRounds {
		for i, row := range lies {
			// All refused packets cost the same, so each round refuses only every other row.
			if (i+round)%2 == 0 {
				refused = append(refused, beside(row, "-refused"))
			}
			with[i] = append(with[i], beside(row))
		}
	}
	for i, row := range lies {
		t.Run(row, func(t *testing.T) {
			share := median(with[i]) / median(refused)
			t.Logf("%.0f Mbit/s when refused (%d rounds), %.0f beside (%.2f, %d rounds)", median(refused), len(refused), median(with[i]), share, len(with[i]))
			if share < liarShare {
				t.Errorf("%.0f Mbit/s beside it, %.0f when refused", with[i], refused)
			}
		})
	}
}

const (
	// returnsOfALiar is the number of times that a liar returns, each time as a new process.
	returnsOfALiar = 10
	// returnMost bounds the resident memory of a hub with a returning liar. Without traffic, the
	// hub uses 25 MiB.
	returnMost = 64 << 20
)

// TestLiarThatComesBackStaysSmall lets a peer repeatedly fill the hub's memory for this peer, end,
// and return as a new process. Each process sends 5.7 MB.
func TestLiarThatComesBackStaysSmall(t *testing.T) {
	long(t)
	f, hub, one, two := star(t)
	two.Kill()
	program := liarProgram(t)
	for i := range returnsOfALiar {
		row := []string{"spread", "slots", "unfinished", "earned", "hoard"}[i%5]
		p, err := f.A(2).Start(program, "-row", row, "-key", two.Config.PrivateKey, "-peer", hub.PublicKey,
			"-local", f.A(2).V4[0].String(), "-to", f.B(1).V4[0].String()+":51820", "-mbit", "38", "-for", "1200ms")
		must(t, err)
		if err := p.Wait(20 * time.Second); err != nil {
			t.Fatalf("%v: %s", err, p.Log.String())
		}
		u := usage(t, hub)
		t.Logf("%s: %d MiB, %d at most", row, u.RSS>>20, u.Peak>>20)
		if u.Peak > returnMost {
			t.Errorf("want %d MiB at most", returnMost>>20)
		}
	}
	// The hub must still serve an honest peer.
	if err := one.Await(tunnel.Inner4(1)); err != nil {
		t.Error(err)
	}
}

// liarProgram builds ./liar, and returns its path.
func liarProgram(t *testing.T) string {
	t.Helper()
	dir, err := fabric.Scratch()
	must(t, err)
	program := filepath.Join(dir, "liar")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./liar").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}
