// Package cmd_test holds both agents' command lines against the documents, and their exit codes.
package cmd_test

import (
	"testing"

	"github.com/srdtun/srdtun/fleet/etcd"
	"github.com/srdtun/srdtun/fleet/internal/member"
	"github.com/srdtun/srdtun/fleet/k8s"
	"github.com/srdtun/srdtun/internal/manualtest"
)

// Whatever a document says to run, the program takes.
func TestDocumentsCallWhatThereIs(t *testing.T) {
	for program, atLeast := range map[*member.Program]int{etcd.Program(""): 6, k8s.Program(""): 2} {
		manualtest.Check(t, "../..", program.Name, atLeast, program.Root)
	}
}
