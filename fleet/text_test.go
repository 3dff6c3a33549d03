package fleet

import (
	"testing"

	"github.com/srdtun/srdtun/internal/peerid"
)

// A name that looks like other words for a peer is not signed, and not read.
func TestNamesLookLikeNothingElse(t *testing.T) {
	for _, bad := range []string{"10.80.0.2", "0.0.0.0", "abcdefghijklmnopqrstuvwxyz0123456789abcdefg"} {
		if CheckName(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	for _, good := range []string{"db1", "10", "10.80.0", "ip-10-80-0-2", "10.80.0.2.example"} {
		if err := CheckName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
		// The daemon has to take each of them from an agent's file.
		if err := peerid.CheckGuest(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}
