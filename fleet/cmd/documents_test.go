// Package cmd_test compares both agents' command lines and exit codes with the documents.
package cmd_test

import (
	"testing"

	"github.com/srdtun/srdtun/fleet/etcd"
	"github.com/srdtun/srdtun/fleet/internal/member"
	"github.com/srdtun/srdtun/fleet/k8s"
	"github.com/srdtun/srdtun/internal/manualtest"
)

// Both programs accept every command line in the documents.
func TestDocumentsCallWhatThereIs(t *testing.T) {
	for program, atLeast := range map[*member.Program]int{etcd.Program(""): 6, k8s.Program(""): 2} {
		manualtest.Check(t, "../..", program.Name, atLeast, program.Root)
	}
}
