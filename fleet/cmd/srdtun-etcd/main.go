// Command srdtun-etcd makes the members of a fleet, which find each other through etcd, peers
// of an srdtun daemon: it writes the daemon's directory of drop-in peers. The operator says
// who may be a member, not etcd: package fleet.
package main

import (
	"github.com/srdtun/srdtun/fleet/etcd"
	"github.com/srdtun/srdtun/fleet/internal/member"
)

// version is set when the program is built.
var version = "unknown"

func main() { member.Main(etcd.Program(version)) }
