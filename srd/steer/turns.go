package steer

// turns assigns turns to paths in proportion to their weights, and spreads the turns of each
// path evenly. At each turn the weight of every path is added to its credit. The path with the
// most credit gets the turn, and the sum of all weights is subtracted from its credit. The zero
// value of turns has no weights.
type turns struct {
	weight [MaxPaths]float32
	credit [MaxPaths]float32
}

// next returns the path whose turn is next. The set `usable` is not empty, and its members have
// weights above zero.
func (t *turns) next(usable *Set) int {
	best, total := -1, float32(0)
	for p := usable.Next(0); p >= 0; p = usable.Next(p + 1) {
		t.credit[p] += t.weight[p]
		total += t.weight[p]
		if best < 0 || t.credit[p] > t.credit[best] {
			best = p
		}
	}
	t.credit[best] -= total
	return best
}
