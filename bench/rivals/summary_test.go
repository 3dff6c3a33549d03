package rivals

import (
	"strings"
	"testing"
)

func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{nil, "–"},
		{[]float64{3}, "3.00"},
		{[]float64{5, 1, 3}, "3.00 [1.00..5.00]"},
		{[]float64{4, 1, 2, 30}, "3.00 [1.00..30.0]"},
		{[]float64{0.0123, 1234.5, 99.96}, "100 [0.012..1234]"},
	} {
		if got := summarize(c.values).String(); got != c.want {
			t.Errorf("%v: %s, want %s", c.values, got, c.want)
		}
	}
}

// The order of the caller's values is not changed.
func TestSummarizeLeavesItsInput(t *testing.T) {
	v := []float64{2, 1}
	summarize(v)
	if v[0] != 2 {
		t.Error("the values were sorted in place")
	}
}

func TestRatiosAreOfTheSameRound(t *testing.T) {
	// Both values halve in round 2. Round 3 has no value of the base, and round 4 has only that
	// value.
	a, base := series{1: 4, 2: 2, 3: 9}, series{1: 2, 2: 1, 4: 7}
	if got := a.over(base); got != (spread{2, 2, 2, 2}) {
		t.Errorf("%+v", got)
	}
	if got := a.over(series{1: 0}); got.n != 0 {
		t.Errorf("a ratio to zero: %+v", got)
	}
}

func of(kind, disturbed string, round int, v float64) record {
	return record{Round: round, Net: "real", Kind: kind, Row: rowTCP1, Metric: gbps, Value: v, Disturbed: disturbed}
}

func TestGatherLeavesDisturbedValuesOut(t *testing.T) {
	r := gather([]record{of("srdtun", "", 1, 4), of("srdtun", "steal", 2, 1), of("tcp", "steal", 1, 9), {Round: 1, Kind: "nebula", Error: "gone"}})
	m := metric{row: rowTCP1, name: gbps}
	if got := r.get("real", "srdtun", m).spread(); got.n != 1 || got.median != 4 {
		t.Errorf("srdtun: %+v", got)
	}
	if got := r.get("real", "tcp", m).spread(); got.n != 1 || got.median != 9 {
		t.Errorf("a series of nothing but disturbed values: %+v", got)
	}
	if r.disturbed != 1 || r.kept != 1 || len(r.failures) != 1 {
		t.Errorf("%d left out, %d kept, %d failures", r.disturbed, r.kept, len(r.failures))
	}
}

func TestReport(t *testing.T) {
	all := []record{
		of("srdtun", "", 1, 4), of("srdtun", "", 2, 5), of("wireguard-go", "", 1, 2), of("wireguard-go", "", 2, 2), of("nebula", "", 1, 1),
		{Round: 1, Net: "real", Kind: "srdtun", Row: rowRTT, Metric: p99us, Value: 100},
		{Round: 1, Net: "real", Kind: "wireguard-go", Row: rowRTT, Metric: p99us, Value: 400},
		{Round: 1, Net: "real", Kind: "nebula", Row: rowRTT, Metric: p99us, Value: 200},
		{Round: 2, Net: "plain", Kind: "nebula", Row: "start", Error: "no tun"},
	}
	text := report(about{Date: "today", Rounds: 2, Versions: map[string]string{"srdtun": "v1"}}, gather(all))
	for _, want := range []string{
		"- srdtun: v1\n",
		"| | wireguard-go | nebula | srdtun | srdtun against the best other tunnel |\n| --- | --- | --- | --- | --- |\n",
		"| one TCP flow, Gbit/s | 2.00 [2.00..2.00] | 1.00 | 4.50 [4.00..5.00] | 2.25 [2.00..2.50] x wireguard-go |\n",
		"| … x wireguard-go | | 0.500 | 2.25 [2.00..2.50] | |\n",
		"| … p99, us | 400 | 200 | 100 | 0.500 x nebula |\n",
		"Failed: round 2, plain, nebula, start: no tun\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("missing: %s", want)
		}
	}
	if strings.Contains(text, "Plain veth") || strings.Contains(text, "eight TCP flows") {
		t.Errorf("parts without values are shown")
	}
	if t.Failed() {
		t.Log(text)
	}
}
