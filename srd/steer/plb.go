package steer

// NewPLB returns the policy PLB (Qureshi et al., SIGCOMM 2022): a flow changes its path
// after twelve congested rounds (round trips) in a row. After a pause of the flow, three
// congested rounds are enough, because no packet of the flow can then be overtaken. A round
// is congested if half of its samples are marked. Linux has the same values as
// tcp_plb_rehash_rounds, tcp_plb_idle_rehash_rounds and tcp_plb_cong_thresh.
func NewPLB(seed uint64) *Rehash {
	return NewRehash(seed, RehashConfig{Threshold: 0.5, Rounds: 12, IdleRounds: 3})
}
