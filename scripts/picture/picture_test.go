package picture

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The program must get the figure as JSON. If the program fails, the error must contain its output.
func TestDraw(t *testing.T) {
	dir := t.TempDir()
	plot, file := filepath.Join(dir, "plot"), filepath.Join(dir, "a.png")
	script := "#!/bin/sh\n[ \"$1\" = -o ] && cat > \"$2\"\ngrep -q fail \"$2\" && echo sorry && exit 1\nexit 0\n"
	if err := os.WriteFile(plot, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	b := Figure{Title: "T", Panels: []Panel{{Title: "P", Unit: "us", Bars: []Bar{{Name: "n", Value: 2, Low: 1, High: 3, Tone: Other}}}}}
	if err := Draw(plot, file, b); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	want := `{"title":"T","subtitle":"","panels":[{"title":"P","unit":"us","bars":[{"name":"n","value":2,"low":1,"high":3,"tone":1}]}]}`
	if err != nil || string(got) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
	if err := Draw(plot, file, Figure{Title: "fail"}); err == nil || !strings.Contains(err.Error(), "sorry") {
		t.Errorf("%v", err)
	}
}
