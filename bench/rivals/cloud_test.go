package rivals

import (
	"strings"
	"testing"
)

func TestInstancesAreNamed(t *testing.T) {
	all, err := parseInstances([]string{"tcp=10.0.0.2", "mptcp=10.0.0.2", "srdtun=fd80::2"})
	if err != nil || len(all) != 3 {
		t.Fatalf("%d entries, %v", len(all), err)
	}
	for i, want := range []bool{false, true, false} {
		l, err := all[i].kind.start(nil, nil)
		if err != nil || (l.wrap != nil) != want {
			t.Errorf("%s: MPTCP is %v, %v", all[i].kind.name, l.wrap != nil, err)
		}
	}
	for _, wrong := range [][]string{{"10.0.0.2"}, {"=10.0.0.2"}, {"tcp=host"}, {"tcp=10.0.0.2:80"}, {"tcp=10.0.0.2", "tcp=10.0.0.3"}} {
		if _, err := parseInstances(wrong); err == nil || !strings.Contains(err.Error(), wrong[len(wrong)-1]) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// A report has the limits of networks in namespaces, and no limits for real instances.
func TestReportNamesLimits(t *testing.T) {
	a := about{Rounds: 1, Seconds: 1, Cloud: true}
	for net, want := range map[string][2]bool{cloud500.name: {true, false}, cloud2000.name: {false, true}, instances.name: {false, false}} {
		text := report(a, gather([]record{{Round: 1, Net: net, Kind: srdtun.name, Row: rowFlow1, Metric: mbit, Value: 1}}))
		for i, limit := range []string{", 500 Mbit/s, ", ", 2000 Mbit/s, "} {
			if strings.Contains(text, limit) != want[i] {
				t.Errorf("%s: that it says %q is %v", net, limit, !want[i])
			}
		}
		if strings.Contains(text, "8 subflows") != (net != instances.name) {
			t.Errorf("%s: subflows", net)
		}
	}
}
