package fabric

import (
	"os"
	"testing"
	"time"
)

func TestParseStatus(t *testing.T) {
	if now, peak, err := parseStatus("VmHWM:\t   13313 kB\nVmRSS:\t   13312 kB\nRssAnon: 1 kB\n"); err != nil || now != 13<<20 || peak != 13313<<10 {
		t.Errorf("%d and %d bytes, %v", now, peak, err)
	}
	if _, _, err := parseStatus("Name: x\n"); err == nil {
		t.Error("a process without memory is accepted")
	}
}

func TestParseStat(t *testing.T) {
	const line = "17 (a ) b) S 1 17 17 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 1 0 1000 1 1"
	if got, err := parseStat(line); err != nil || got != 3*time.Second {
		t.Errorf("%v, %v, want 3s", got, err)
	}
	if got, err := parseStat("17 (a) S"); err == nil {
		t.Errorf("a line cut short gives %v", got)
	}
}

func TestParseCounter(t *testing.T) {
	const text = "Ip: A RetransSegs\nIp: 1 2\nTcp: InSegs RetransSegs\nTcp: 5 42\n"
	if n, err := parseCounter(text, "Tcp:", "RetransSegs"); n != 42 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for _, name := range []string{"OutRsts", "5", "Tcp:"} {
		if n, err := parseCounter(text, "Tcp:", name); err == nil {
			t.Errorf("%s is %d", name, n)
		}
	}
}

func TestUsageOfThisProcess(t *testing.T) {
	u, err := UsageOf(os.Getpid())
	if err != nil || u.RSS == 0 || u.Peak < u.RSS {
		t.Errorf("%+v, %v", u, err)
	}
	if d, err := RanOf(os.Getpid()); err != nil || d == 0 {
		t.Errorf("%v, %v", d, err)
	}
}
