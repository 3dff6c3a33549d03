package steer

// NewFlowBender returns FlowBender (Kabbani et al., CoNEXT 2014): a flow changes its path
// after one round with a twentieth of marks. It leaves a failed path at once, as with
// every policy.
func NewFlowBender(seed uint64) *Rehash {
	return NewRehash(seed, RehashConfig{Threshold: 0.05, Rounds: 1})
}
