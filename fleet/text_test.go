package fleet

import (
	"testing"

	"github.com/srdtun/srdtun/internal/peerid"
)

// A name that could be mistaken for an address, a prefix or a key is refused, both for signing and
// in a record.
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
		// The daemon must accept each of these names in an agent's file.
		if err := peerid.CheckGuest(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}
