package main

import (
	"testing"

	"github.com/srdtun/srdtun/internal/manualtest"
)

// Whatever a document says to run, this program takes: commands, flags and the number of
// arguments. What the commands then do is in e2e.
func TestDocumentsCallWhatThereIs(t *testing.T) {
	manualtest.Check(t, "../..", "srdtun", 90, newRoot)
	manualtest.CheckShort(t, "../..", 6, newRoot)
}
