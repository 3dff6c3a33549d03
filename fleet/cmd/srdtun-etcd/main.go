// Command srdtun-etcd makes the members of a fleet peers of an srdtun daemon. The members of the
// fleet find each other through etcd. The command writes files into the daemon's directory of
// drop-in peers. The operator, and not etcd, decides which hosts may be members (package fleet).
package main

import (
	"os"

	"github.com/srdtun/srdtun/fleet/etcd"
)

// The linker sets the variable version.
var version = "unknown"

func main() { os.Exit(etcd.Program(version).Run(os.Args[1:])) }
