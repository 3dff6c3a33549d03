package steer

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Defaults of the Discounting Rate Estimator: tau is 160 us (CONGA, section 3.6).
const (
	DefaultDREAlpha  = 0.125
	DefaultDREPeriod = 20 * time.Microsecond
)

// dreForgets is after how many periods nothing is left of a register, whatever
// alpha within its bounds: 0.99^4096 is below 1e-17.
const dreForgets = 4096

// MinDREAlpha is the least alpha that may be configured.
const MinDREAlpha = 0.01

// dreShape is what all estimators of a policy have in common.
type dreShape struct {
	alpha  float64
	period time.Duration
}

// tau returns the time constant in seconds.
func (s *dreShape) tau() float64 { return s.period.Seconds() / s.alpha }

// dre is one Discounting Rate Estimator (CONGA, section 3.2): a register that
// grows with each byte sent and is multiplied with 1-alpha every period. At a
// steady rate R it holds about R times tau. There is no timer: what the periods
// since the last look have taken is taken when it is looked at.
type dre struct {
	x    float64
	tick int64 // the period that x is of
}

// at returns the register as of now, in bytes.
func (d *dre) at(now mono.Time, s *dreShape) float64 {
	n := int64(now)/int64(s.period) - d.tick
	switch {
	case n <= 0:
		return d.x
	case n >= dreForgets:
		d.x = 0
	default:
		d.x *= power(1-s.alpha, int(n))
	}
	d.tick += n
	return d.x
}

// add counts n bytes sent.
func (d *dre) add(now mono.Time, n int, s *dreShape) { d.x = d.at(now, s) + float64(n) }

// power returns b to the n-th, by squaring: the same on every machine.
func power(b float64, n int) float64 {
	v := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			v *= b
		}
		b *= b
	}
	return v
}
