package main

import (
	"testing"

	"github.com/srdtun/srdtun/internal/manualtest"
)

// For every call of srdtun in the documents, this program knows the command and the flags, and
// accepts the number of arguments. Package e2e tests the effects of the commands.
func TestDocumentsCallWhatThereIs(t *testing.T) {
	manualtest.Check(t, "../..", "srdtun", 90, newRoot)
	manualtest.CheckShort(t, "../..", 6, newRoot)
}
