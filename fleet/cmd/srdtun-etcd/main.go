// Command srdtun-etcd makes the members of a fleet, which find each other through etcd, peers
// of an srdtun daemon: it writes the daemon's directory of drop-in peers. Who may be a member
// is the operator's word, not etcd's; package fleet says how.
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
		Use:   "srdtun-etcd",
		Short: "Members of a fleet, through etcd",
		Long: `srdtun-etcd keeps the directory of drop-in peers of an srdtun daemon as the
members of a fleet in etcd are, as far as the operator's policy admits them:
an allow list of public keys, or grants that the fleet's key has signed.`,
		Version: version,
	}
	root.AddCommand(joinCommand(), membersCommand(), leaveCommand())
	return root
}
