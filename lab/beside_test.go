package lab_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/lab"
)

// kernelShares reads the records of "bench plaintcp". For each run it returns the share of the
// tunnel in the sum of its own goodput and that of plain TCP. The first `skip` values are left out.
func kernelShares(t *testing.T, name string, skip int) (v []float64) {
	text, err := os.ReadFile("testdata/beside.txt")
	must(t, err)
	var inside float64
	for line := range strings.Lines(string(text)) {
		word := strings.Fields(line)
		if word[0] != name || word[3] != "mbit" {
			continue
		}
		sum := 0.0
		for _, w := range word[4+skip:] {
			x, err := strconv.ParseFloat(w, 64)
			must(t, err)
			sum += x
		}
		if word[2] == "0" {
			inside = sum
		} else {
			v = append(v, inside/(inside+sum))
		}
	}
	return v
}

// The simulator predicts the share of a tunnel between daemons that competes with the kernel's
// CUBIC. Averaged over all starts and seeds, the error is at most a quarter.
func TestSharesAsBesideTheKernel(t *testing.T) {
	mean := func(v []float64) (m float64) {
		for _, x := range v {
			m += x / float64(len(v))
		}
		return m
	}
	for _, c := range []struct{ plan, cases, kernel string }{
		{"plans/beside-short.toml", "1 beside 1", "beside-1-1-20"},
		{"plans/beside-short.toml", "4 beside 4", "beside-4-4-20"},
		{"plans/beside-deep.toml", "1 beside 1", "beside-1-1-200"},
	} {
		t.Run(c.kernel, func(t *testing.T) {
			t.Parallel()
			p, host := between(t, c.plan, "daemon")
			var model []float64
			skip := 0
			for i := range p.Cases {
				x := &p.Cases[i]
				if !strings.HasPrefix(x.Name, c.cases) {
					continue
				}
				skip = x.Skip
				for _, seed := range p.Seeds {
					r, err := lab.Run(p, x, host, seed, nil)
					must(t, err)
					tunnel, _ := goodput(r, "tunnel", x.Skip)
					plain, _ := goodput(r, "plain", x.Skip)
					model = append(model, tunnel/(tunnel+plain))
				}
			}
			kernel := kernelShares(t, c.kernel, skip)
			t.Logf("kernel %.2f, model %.2f", kernel, model)
			if ratio := mean(model) / mean(kernel); len(kernel) == 0 || ratio < 0.75 || ratio > 1.25 {
				t.Errorf("the tunnel's share is %.2f, on the kernel %.2f", mean(model), mean(kernel))
			}
		})
	}
}
