package cloud

import (
	"strings"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
)

var small = Caps{TupleMbit: 5, HostMbit: 50, Packets: 8000, NewTuples: 40}

// TestCapsHold offers more traffic than each limit allows. Each limit must hold, with a queue and
// without.
func TestCapsHold(t *testing.T) {
	for _, c := range []Caps{small, {5, 50, 8000, 40, true}} {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			n, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { n.Close() })
			if err := n.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCapThatDoesNotCapIsFound removes one limit at a time. The check of this limit must report it.
func TestCapThatDoesNotCapIsFound(t *testing.T) {
	t.Parallel()
	n, err := New(small)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	n.removed(t, n.A.Namespace, "tc", "qdisc", "del", "dev", "eth0", "root")
	n.removed(t, n.Switch, "nft", "flush", "ruleset")
	got := n.Check()
	if got == nil {
		t.Fatal("nothing is limited, and nothing is found")
	}
	for _, what := range []string{"bits of a tuple", "bits of the host", "packets of the host", "new tuples of the host"} {
		if !strings.Contains(got.Error(), "does not limit: "+what) {
			t.Errorf("%s: not found:\n%v", what, got)
		}
	}
}

func (n *Network) removed(t *testing.T, where *fabric.Namespace, tool string, args ...string) {
	if _, err := where.Run(tool, args...); err != nil {
		t.Fatal(err)
	}
}
