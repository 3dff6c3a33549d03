package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRotatingLogStaysShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	const limit, line = 100, "0123456789012345678\n"
	must(t, os.WriteFile(path, []byte(strings.Repeat("old\n", 20)), 0o640))
	l, err := openRotating(path, limit)
	must(t, err)
	for i := range 23 {
		if _, err := fmt.Fprintf(l, "%02d%s", i, line[2:]); err != nil {
			t.Fatal(err)
		}
		for _, f := range []string{path, path + ".old"} {
			if st, err := os.Stat(f); err == nil && st.Size() > limit {
				t.Fatalf("%s has %d bytes after line %d, want at most %d", f, st.Size(), i, limit)
			}
		}
	}
	old, err := os.ReadFile(path + ".old")
	must(t, err)
	now, err := os.ReadFile(path)
	must(t, err)
	// The two files contain the latest lines, in order and without a gap.
	first := 23 - len(string(old)+string(now))/len(line)
	for i, got := range strings.SplitAfter(string(old)+string(now), "\n")[:23-first] {
		if want := fmt.Sprintf("%02d%s", first+i, line[2:]); got != want {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
	}
	if len(now) == 0 || len(old) < limit-len(line) {
		t.Errorf("%d bytes in the old and %d in the new file", len(old), len(now))
	}
}

// A message longer than the limit is written nevertheless, because a single one cannot make the log
// grow for ever.
func TestRotatingLogTakesALongLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := openRotating(path, 10)
	must(t, err)
	for range 3 {
		if _, err := l.Write([]byte(strings.Repeat("x", 50))); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := os.Stat(path); err != nil || st.Size() != 50 {
		t.Errorf("log has %d bytes, %v; want 50", st.Size(), err)
	}
}
