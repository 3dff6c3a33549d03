package main

import (
	"testing"

	"github.com/srdtun/srdtun/internal/manualtest"
)

func TestDocumentsCallWhatThereIs(t *testing.T) {
	manualtest.Check(t, "../..", "srdsim", 15, root)
}
