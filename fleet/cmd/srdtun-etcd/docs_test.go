package main

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/fleet/internal/member"
	"github.com/srdtun/srdtun/internal/manualtest"
)

// Whatever a document says to run, this program takes. The commands of all agents are those
// of package member.
func TestDocumentsCallWhatThereIs(t *testing.T) {
	manualtest.Check(t, "../../..", "srdtun-etcd", 6, func() *cobra.Command {
		root := newRoot()
		root.AddCommand(member.FleetKeyCommand(), member.SignCommand())
		return root
	})
}
