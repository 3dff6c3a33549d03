package steer

import "math/rand/v2"

// newRand returns the source of random numbers of a policy.
func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x57ee2)) }

// anyOf draws a random member of s, which is not empty.
func anyOf(r *rand.Rand, s *Set) int { return s.At(r.IntN(s.Len())) }

// otherThan draws a random member of s other than p. If p is the only member, otherThan returns
// p.
func otherThan(r *rand.Rand, s *Set, p int) int {
	others := *s
	others.Remove(p)
	if others.Empty() {
		return p
	}
	return anyOf(r, &others)
}

// mix hashes a flow and a path together (the finaliser of SplitMix64, Steele, OOPSLA 2014).
func mix(seed uint64, flow uint32, p int) uint64 {
	z := seed + (uint64(flow)<<16|uint64(p)+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
