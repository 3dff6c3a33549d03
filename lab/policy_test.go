package lab

import (
	"strings"
	"testing"

	"github.com/srdtun/srdtun/srd/steer"
)

// With every policy, the flow of a plan completes. On an empty network it takes little more than
// its ideal time, except with the policy duplicate, which sends everything twice.
func TestEveryPolicyRuns(t *testing.T) {
	for _, name := range steer.Names() {
		most := 1.3
		if name == "duplicate" {
			most = 2.5
		}
		r := one(t, strings.Replace(head+network+lone, "mtu = 9000", "mtu = 9000\npolicy = \""+name+"\"", 1))
		if f := r.Flows[0]; f.Delivered != f.Size || f.FCT < f.Ideal || f.FCT > most*f.Ideal {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
