package tunnel

import (
	"fmt"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// NewMesh starts a daemon on each host, node i on the i-th from 1. It waits until each node
// reaches each other. The caller closes nodes that are returned with an error, too.
func NewMesh(bin string, hosts ...*fabric.Host) ([]*Node, error) {
	nodes, err := newNodes(bin, hosts)
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
