// Command srdtun-k8s makes the nodes of a Kubernetes cluster peers of their srdtun daemons. The
// record in an annotation of each Node becomes a file in the daemon's directory of drop-in
// peers. The operator decides who may be a member, and the API server does not: package fleet.
package main

import (
	"os"

	"github.com/srdtun/srdtun/fleet/k8s"
)

// version is set when the program is built.
var version = "unknown"

func main() { os.Exit(k8s.Program(version).Run(os.Args[1:])) }
