package sockperf

import "testing"

func TestParseSockperf(t *testing.T) {
	const out = "sockperf: \x1b[2;35m---> percentile 99.900 =  310.1\x1b[0m\nsockperf: ---> percentile 99.000 =  127.5\n" +
		"sockperf: ---> percentile 90.000 = 99\nsockperf: ---> percentile 50.000 =   76.25\n"
	if p, err := parse(out); err != nil || p != (Percentiles{76.25, 127.5}) {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := parse("sockperf: ERROR: connection refused"); err == nil {
		t.Error("a failure is accepted")
	}
}
