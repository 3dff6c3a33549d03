package main

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// events returns the output of "go test -json" for one package whose tests end with the given
// events.
func events(ends ...string) string {
	var b strings.Builder
	for _, e := range ends {
		b.WriteString(`{"Action":"output","Package":"p","Test":"T` + e + `","Output":"log of ` + e + `\n"}` + "\n")
		b.WriteString(`{"Action":"` + e + `","Package":"p","Test":"T` + e + `","Elapsed":0.1}` + "\n")
	}
	return b.String()
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name, in string
		err      error
		code     int
		says     string
	}{
		{"all pass", events("pass"), nil, 0, "1 passed, 0 failed, 0 skipped"},
		{"one fails", events("pass", "fail"), errors.New("exit status 1"), 1, "log of fail"},
		{"one is skipped", events("pass", "skip"), nil, 1, "SKIP  p Tskip"},
		{"none", "", nil, 1, "no test"},
		{"go test fails by itself", events("pass"), errors.New("exit status 2"), 1, "FAIL"},
		{"a package does not build", `{"Action":"build-output","Output":"x.go:1: bad\n"}` + "\n" + `{"Action":"fail","Package":"p"}`, nil, 1, "x.go:1: bad"},
		{"no JSON", "go: cannot find module\n", errors.New("exit status 1"), 1, "cannot find module"},
		{"cut short", `{"Action":"output","Package":"p","Test":"T","Output":"panic: so\n"}`, errors.New("exit status 2"), 1, "panic: so"},
	} {
		var out strings.Builder
		s := newSummary(&out, io.Discard, false)
		s.read(strings.NewReader(c.in))
		if code := s.finish(c.err); code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: code %d, want %d; said\n%s", c.name, code, c.code, out.String())
		}
	}
}

// A failure must be reported once, when it happens, before later tests have ended.
func TestFailuresAreToldAtOnce(t *testing.T) {
	var out, alarm strings.Builder
	s := newSummary(&out, &alarm, false)
	s.read(strings.NewReader(events("pass")))
	if alarm.String() != "" {
		t.Errorf("said %q of a test that passed", alarm.String())
	}
	s.read(strings.NewReader(events("fail") + `{"Action":"output","Package":"p","Test":"TNext","Output":"goes on\n"}` + "\n"))
	want := "FAIL  p Tfail\nlog of fail\n"
	if alarm.String() != want {
		t.Errorf("said %q, want %q", alarm.String(), want)
	}
	s.read(strings.NewReader(`{"Action":"output","Package":"p","Output":"FAIL p\n"}` + "\n" + `{"Action":"fail","Package":"p"}` + "\n"))
	if alarm.String() != want {
		t.Errorf("said %q of the package as well", alarm.String())
	}
	s.read(strings.NewReader(`{"Action":"build-output","Output":"x.go:1: bad\n"}` + "\n" + `{"Action":"fail","Package":"q"}` + "\n"))
	if want += "FAIL  q\nx.go:1: bad\n"; alarm.String() != want {
		t.Errorf("said %q, want %q", alarm.String(), want)
	}
}
