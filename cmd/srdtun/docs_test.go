package main

import (
	"testing"

	"github.com/srdtun/srdtun/internal/manualtest"
)

// This program accepts every call in the documents: commands, flags and the number of
// arguments. Package e2e tests the effects of the commands.
func TestDocumentsCallWhatThereIs(t *testing.T) {
	manualtest.Check(t, "../..", "srdtun", 90, newRoot)
	manualtest.CheckShort(t, "../..", 6, newRoot)
}
