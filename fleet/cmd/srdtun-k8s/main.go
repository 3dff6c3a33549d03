// Command srdtun-k8s makes the nodes of a Kubernetes cluster peers of the srdtun daemons that
// run on them: a record in an annotation of each Node becomes a file in the daemon's directory
// of drop-in peers. Who may be a member is the operator's word, not the API server's; package
// fleet says how.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/fleet/internal/member"
)

// version is set when the program is built.
var version = "unknown"

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int { return member.Run(newRoot(), args) }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "srdtun-k8s",
		Short: "Members of a fleet, through Kubernetes",
		Long: `srdtun-k8s keeps the directory of drop-in peers of an srdtun daemon as the
annotations of the cluster's Nodes are, as far as the operator's policy admits
them: an allow list of public keys, or grants that the fleet's key has signed.`,
		Version: version,
	}
	root.AddCommand(joinCommand(), membersCommand(), leaveCommand())
	return root
}
