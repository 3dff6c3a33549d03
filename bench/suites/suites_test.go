package suites

import (
	"strings"
	"testing"
)

// The overlay fits the installed Go, and tests then run over streams: a test that wants a *net.TCPConn
// fails, and the report explains it.
func TestRunsOverStreams(t *testing.T) {
	var out strings.Builder
	s := suite{source: "../..", dir: t.TempDir(), run: "^Test(HijackAfterCloseNotifier|ServeFile)$", out: &out}
	if err := s.compare(); err != nil {
		t.Fatal(err, out.String())
	}
	if want := different["TestHijackAfterCloseNotifier"]; !strings.Contains(out.String(), want) {
		t.Errorf("the tests ran over TCP:\n%s", out.String())
	}
}

func TestReportNamesUnexplained(t *testing.T) {
	key := event{Package: "net/http", Test: "TestGet/h1"}
	tcp := results{of: map[event]string{key: "pass"}}
	srd := results{of: map[event]string{key: "fail"}, outputs: map[event]string{key: "the answer is lost\n"}}
	var out strings.Builder
	err := report(&out, tcp, srd)
	if err == nil || !strings.Contains(err.Error(), "TestGet/h1") || !strings.Contains(out.String(), "the answer is lost") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
