package rivals

var (
	plainTCP = kind{"tcp", "no tunnel", startPlain}
	mptcp    = kind{"mptcp", "kernel MPTCP", startMPTCP}
)

func startPlain(_ *bench, s *site) (*link, error) {
	return &link{to: s.b.Addr4(), dev: "eth0"}, nil
}

// startMPTCP configures all addresses in the kernel's MPTCP. If cables connect the hosts directly,
// A makes one subflow to each address that B announces, over that address's cable. On the fabric
// each address of A makes a subflow to two addresses of B, so ECMP hashes eight 5-tuples.
func startMPTCP(_ *bench, s *site) (*link, error) {
	l := &link{to: s.b.Addr4(), dev: "eth0", wrap: []string{"mptcpize", "run"}}
	if s.net.links > 0 {
		return l, firstError(s.b.EnableMPTCP(s.b.V4[1:], nil), s.a.EnableMPTCP(nil, nil))
	}
	return l, firstError(s.b.EnableMPTCP(s.b.V4[1:2], nil), s.a.EnableMPTCP(nil, s.a.V4[1:]))
}
