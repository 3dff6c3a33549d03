package workload

import "math/rand/v2"

// Sizes is a distribution of flow sizes. Straight lines connect points of the cumulative
// distribution, as in the generators of DCTCP and pFabric.
type Sizes struct {
	bytes []float64
	below []float64
}

// Fixed returns the distribution with a single size.
func Fixed(bytes int64) *Sizes {
	return &Sizes{bytes: []float64{float64(bytes), float64(bytes)}, below: []float64{0, 1}}
}

// ParseSizes parses a .cdf file with lines "BYTES SHARE", in which the fraction SHARE of all flows
// have at most BYTES. Both columns of a .cdf file rise, and the last share is 1. Below the first
// point, the distribution is a straight line from one byte to that point.
func ParseSizes(file, text string) (*Sizes, error) {
	s := &Sizes{bytes: []float64{1}, below: []float64{0}}
	at := line{file: file, number: 1}
	for _, l := range split(file, text) {
		at = l
		if err := l.alone(2); err != nil {
			return nil, err
		}
		b, err := l.real(0, 1, mostBytes)
		if err != nil {
			return nil, err
		}
		p, err := l.real(1, 0, 1)
		if err != nil {
			return nil, err
		}
		n := len(s.bytes) - 1
		if b < s.bytes[n] || p < s.below[n] {
			return nil, l.errorf("%g bytes, share %g: less than in the line before", b, p)
		}
		s.bytes, s.below = append(s.bytes, b), append(s.below, p)
	}
	if s.below[len(s.below)-1] != 1 {
		return nil, at.errorf("the last share is %g, not 1", s.below[len(s.below)-1])
	}
	return s, nil
}

// Cut returns the distribution with all sizes above `most` bytes reduced to `most`. Cut makes a
// run shorter, because the largest flows take the longest.
func (s *Sizes) Cut(most int64) *Sizes {
	c := &Sizes{}
	for i := range s.bytes {
		if b := float64(most); s.bytes[i] >= b {
			share := s.below[i]
			if i > 0 && s.bytes[i] > s.bytes[i-1] {
				share = s.below[i-1] + (s.below[i]-s.below[i-1])*(b-s.bytes[i-1])/(s.bytes[i]-s.bytes[i-1])
			}
			c.bytes, c.below = append(c.bytes, b, b), append(c.below, share, 1)
			return c
		}
		c.bytes, c.below = append(c.bytes, s.bytes[i]), append(c.below, s.below[i])
	}
	return c
}

// Draw returns a random size of at least one byte.
func (s *Sizes) Draw(rng *rand.Rand) int64 { return s.at(rng.Float64()) }

// at returns the size below which the fraction p of all flows lies.
func (s *Sizes) at(p float64) int64 {
	for i := 1; i < len(s.below); i++ {
		if p <= s.below[i] {
			a, b := s.bytes[i-1], s.bytes[i]
			if d := s.below[i] - s.below[i-1]; d > 0 {
				a += (b - a) * (p - s.below[i-1]) / d
			}
			return max(1, int64(a))
		}
	}
	return int64(s.bytes[len(s.bytes)-1])
}

// Mean returns the mean size in bytes.
func (s *Sizes) Mean() float64 {
	var m float64
	for i := 1; i < len(s.below); i++ {
		m += (s.below[i] - s.below[i-1]) * (s.bytes[i] + s.bytes[i-1]) / 2
	}
	return m
}
