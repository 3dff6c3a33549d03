package member

import (
	"io"
	"os"
	"strings"
	"testing"
)

// The log lines of an agent have the same format as the daemon's.
func TestAgentsLogAsTheDaemon(t *testing.T) {
	old := os.Stderr
	defer func() { os.Stderr = old }()
	for format, want := range map[string]string{
		"journal": "<6>came member=db1\n",
		"text":    " info    came member=db1\n",
		"json":    `"level":"info","msg":"came","member":"db1"}` + "\n",
	} {
		r, w, err := os.Pipe()
		must(t, err)
		os.Stderr = w
		log, err := (&Log{format}).Open()
		must(t, err)
		log.Info("came", "member", "db1")
		w.Close()
		got, err := io.ReadAll(r)
		if err != nil || !strings.HasSuffix(string(got), want) {
			t.Errorf("%s: %q, %v, want %q", format, got, err, want)
		}
	}
	if _, err := (&Log{"xml"}).Open(); err == nil || !strings.Contains(err.Error(), `no log format is named "xml"`) {
		t.Errorf("%v", err)
	}
}
