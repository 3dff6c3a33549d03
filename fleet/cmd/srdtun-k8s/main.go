// Command srdtun-k8s makes the nodes of a Kubernetes cluster peers of their srdtun daemons. Each
// Node has a record in an annotation, which becomes a file in the daemon's directory of drop-in
// peers. The operator, and not the API server, decides which nodes may be members (package
// fleet).
package main

import (
	"os"

	"github.com/srdtun/srdtun/fleet/k8s"
)

// The linker sets the variable version.
var version = "unknown"

func main() { os.Exit(k8s.Program(version).Run(os.Args[1:])) }
