package steer

// NewFlowBender returns the policy FlowBender (Kabbani et al., CoNEXT 2014). A flow changes its
// path after one round trip in which at least a twentieth of the samples was marked. As with
// every policy, a flow leaves a failed path at once.
func NewFlowBender(seed uint64) *Rehash {
	return NewRehash(seed, RehashConfig{Threshold: 0.05, Rounds: 1})
}
