// Command srdtun-etcd makes the members of a fleet peers of an srdtun daemon. The members find
// each other through etcd. The command writes the daemon's directory of drop-in peers. The
// operator decides who may be a member, and etcd does not: package fleet.
package main

import (
	"os"

	"github.com/srdtun/srdtun/fleet/etcd"
)

// version is set when the program is built.
var version = "unknown"

func main() { os.Exit(etcd.Program(version).Run(os.Args[1:])) }
