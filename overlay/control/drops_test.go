package control

import (
	"os"
	"regexp"
	"testing"

	"github.com/srdtun/srdtun/srd"
)

// Drops for a reason that is normal in a healthy tunnel raise no alarm.
func TestNoAlarmForDropsThatAreMeant(t *testing.T) {
	text, err := os.ReadFile("../../contrib/prometheus/alerts.yml")
	must(t, err)
	m := regexp.MustCompile(`srdtun_drops_total\{reason!~"([^"]*)"\}`).FindSubmatch(text)
	if m == nil {
		t.Fatal("no alert about drops")
	}
	calm := regexp.MustCompile("^(" + string(m[1]) + ")$")
	meant := []string{DropCodel, DropCodelSegment, DropCodelDatagram}
	for r := range srd.NumReasons {
		if r.Meant() {
			meant = append(meant, r.String())
		}
	}
	for _, reason := range meant {
		if !Meant(reason) || !calm.MatchString(reason) {
			t.Errorf("%s: meant %v, without an alarm %v", reason, Meant(reason), calm.MatchString(reason))
		}
	}
	for _, reason := range []string{"no_route", "replay", "source_not_allowed", "handshake_mismatch", "queue_overflow", "none", ""} {
		if Meant(reason) {
			t.Errorf("%s hides a fault", reason)
		}
	}
}
