// Command srdtun-k8s makes the nodes of a Kubernetes cluster peers of the srdtun daemons that
// run on them: a record in an annotation of each Node becomes a file in the daemon's directory
// of drop-in peers. The operator says who may be a member, not the API server: package fleet.
package main

import (
	"os"

	"github.com/srdtun/srdtun/fleet/k8s"
)

// version is set when the program is built.
var version = "unknown"

func main() { os.Exit(k8s.Program(version).Run(os.Args[1:])) }
