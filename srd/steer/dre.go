package steer

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// The default parameters of the Discounting Rate Estimator give a time constant (tau) of 160 us
// (CONGA, section 3.6).
const (
	DefaultDREAlpha  = 0.125
	DefaultDREPeriod = 20 * time.Microsecond
)

// dreForgets is the number of periods after which a register is empty, for any alpha within its
// bounds: 0.99^4096 is below 1e-17.
const dreForgets = 4096

// MinDREAlpha is the smallest alpha that may be configured.
const MinDREAlpha = 0.01

// dreShape holds the parameters that all estimators of a policy share.
type dreShape struct {
	alpha  float64
	period time.Duration
}

// tau returns the time constant of the estimators, in seconds.
func (s *dreShape) tau() float64 { return s.period.Seconds() / s.alpha }

// dre is one Discounting Rate Estimator (CONGA, section 3.2). A dre is a register that grows
// with each byte sent and is multiplied by 1-alpha every period. At a steady rate R the register
// holds about R times tau. The register needs no timer: each reading applies all periods since
// the last reading.
type dre struct {
	x    float64
	tick int64 // number of the period to which x belongs
}

// at returns the register's value at the time `now`, in bytes.
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

// power returns b to the power n, by repeated squaring, so that the result is the same on every
// machine.
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
