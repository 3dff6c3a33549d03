package rivals

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestParsePings(t *testing.T) {
	var b strings.Builder
	for i := 1; i <= 100; i++ {
		b.WriteString("64 bytes from 10.9.0.2: icmp_seq=1 ttl=64 time=" + strings.Repeat("0", i%2) + "0." + string(rune('0'+i/10%10)) + string(rune('0'+i%10)) + " ms\n")
	}
	// The hundred round trips are 0.01 to 0.99 ms, and 0.00 ms.
	p, err := parsePings(b.String())
	if err != nil || p.P50 < 489 || p.P50 > 491 || p.P99 < 979 || p.P99 > 981 {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := parsePings("100 packets transmitted, 0 received"); err == nil {
		t.Error("no answer is accepted")
	}
}

func TestParseLoad(t *testing.T) {
	bytes, seconds, err := parseLoad([]byte("a word\n" + `{"end":{"sum_sent":{"bytes":11},"sum_received":{"bytes":10,"seconds":2}}}`))
	if err != nil || bytes != 10 || seconds != 2 {
		t.Errorf("%v bytes in %v s, %v", bytes, seconds, err)
	}
	for _, bad := range []string{"", "{}", `{"error":"refused","end":{"sum_received":{"bytes":10,"seconds":2}}}`} {
		if _, _, err := parseLoad([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestCandidates(t *testing.T) {
	got := candidates("m v1.0.0 v1.1.0 v1.2.0 v1.3.0 v1.4.0-rc1 v1.4.0\n")
	if want := []string{"v1.4.0", "v1.3.0", "v1.2.0", "v1.1.0"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := candidates("m\n"); len(got) != 0 {
		t.Errorf("no release: %v", got)
	}
}

func TestParsePerf(t *testing.T) {
	r, err := parsePerf(`{"mode":"incast","flows":2,"bytes":10,"bytes_per_second":5,"messages_per_second":1,"slowest_flow":1,"fastest_flow":2,"latency_ns":{"p50":7,"p99":9}}` + "\n")
	if err != nil || r.BytesPerSec != 5 || r.Latency.P99 != 9 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, bad := range []string{"", "srdperf: no answer", `{"flows":1,"bytes":0}`, `{"flows":2,"bytes":1,"messages_per_second":1}`} {
		if _, err := parsePerf(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// A server prints all its addresses. The measurement uses the address that the compared transports
// use too.
func TestServerIsReachedAtOneAddress(t *testing.T) {
	const line = "nKbH9O0=@10.0.0.1:7,10.0.1.2:7,[fd00::1]:7"
	for addr, want := range map[string]string{"10.0.1.2": "nKbH9O0=@10.0.1.2:7", "fd00::1": "nKbH9O0=@[fd00::1]:7"} {
		if got, err := atOne(line, netip.MustParseAddr(addr)); err != nil || got != want {
			t.Errorf("%s: %q, %v", addr, got, err)
		}
	}
	if got, err := atOne(line, netip.MustParseAddr("10.0.0.9")); err == nil {
		t.Errorf("an address that it does not have: %q", got)
	}
}
