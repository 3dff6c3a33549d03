// Command srdtun-etcd makes the members of a fleet, which find each other through etcd, peers
// of an srdtun daemon: it writes the daemon's directory of drop-in peers. The operator says
// who may be a member, not etcd: package fleet.
package main

import (
	"os"

	"github.com/srdtun/srdtun/fleet/etcd"
)

// version is set when the program is built.
var version = "unknown"

func main() { os.Exit(etcd.Program(version).Run(os.Args[1:])) }
