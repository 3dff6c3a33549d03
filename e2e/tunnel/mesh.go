package tunnel

import (
	"fmt"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// NewMesh starts a daemon on each host; node i, counted from 1, runs on host i. NewMesh waits
// until all nodes reach each other. If NewMesh returns nodes and an error, the caller must close
// the nodes too.
func NewMesh(bin string, hosts ...*fabric.Host) ([]*Node, error) {
	nodes, err := newNodes(bin, Config{}, hosts)
	if err != nil {
		return nodes, err
	}
	for i, n := range nodes {
		for k, to := range nodes {
			if k != i {
				n.Config.Peers = append(n.Config.Peers, Peer{
					Name: fmt.Sprintf("node%d", k+1), PublicKey: to.PublicKey, Endpoints: endpoints(to.Host, false), AllowedIPs: allowed(k + 1),
				})
			}
		}
		if err := n.Start(); err != nil {
			return nodes, err
		}
	}
	for i, n := range nodes {
		for k := range nodes {
			if to := k + 1; k != i {
				if err := n.Await(Inner4(to)); err != nil {
					return nodes, err
				}
			}
		}
	}
	return nodes, nil
}
