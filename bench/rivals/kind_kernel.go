package rivals

import (
	"strconv"

	"github.com/srdtun/srdtun/e2e/fabric"
)

var (
	plainTCP = kind{"tcp", "no tunnel", startPlain}
	mptcp    = kind{"mptcp", "kernel MPTCP", startMPTCP}
)

func startPlain(_ *bench, s *site) (*link, error) {
	return &link{to: s.b.Addr4(), dev: "eth0"}, nil
}

// mptcpSubflows is larger than the number of MPTCP subflows that any network here can use.
const mptcpSubflows = "8"

// startMPTCP configures all addresses in the kernel's MPTCP. If cables connect the hosts directly,
// A makes one subflow to each address that B announces, over that address's cable. On the fabric
// each address of A makes a subflow to two addresses of B, so ECMP hashes eight 5-tuples.
func startMPTCP(_ *bench, s *site) (*link, error) {
	l := &link{to: s.b.Addr4(), dev: "eth0", wrap: []string{"mptcpize", "run"}}
	for _, h := range []*fabric.Host{s.a, s.b} {
		if _, err := h.Run("ip", "mptcp", "limits", "set", "subflows", mptcpSubflows, "add_addr_accepted", mptcpSubflows); err != nil {
			return nil, err
		}
	}
	hashed := s.net.links == 0
	for k := 1; k < len(s.b.V4); k++ {
		if hashed && k > 1 {
			break
		}
		if _, err := s.b.Run("ip", "mptcp", "endpoint", "add", s.b.V4[k].String(), "dev", s.device(k), "signal"); err != nil {
			return nil, err
		}
	}
	for k := 1; hashed && k < len(s.a.V4); k++ {
		if _, err := s.a.Run("ip", "mptcp", "endpoint", "add", s.a.V4[k].String(), "dev", s.device(k), "subflow", "fullmesh"); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// device returns the name of the network device that holds a host's address number k, counted from
// 0.
func (s *site) device(k int) string {
	if s.net.links == 0 {
		return "eth0"
	}
	return "eth" + strconv.Itoa(k)
}
