package field

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Apply must make and undo edits. If one edit is impossible, none of the previous edits may remain.
func TestApply(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.go")
	const text = "one two two"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	f := &Field{Dir: dir}
	want := func(is string) {
		t.Helper()
		if b, _ := os.ReadFile(file); string(b) != is {
			t.Errorf("the file is %q, want %q", b, is)
		}
	}
	undo, err := f.Apply([]Edit{{"a.go", "one", "1"}, {"a.go", "1 two", "3"}})
	if err != nil {
		t.Fatal(err)
	}
	want("3 two")
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	want(text)
	for what, e := range map[string]Edit{
		"2 times": {"a.go", "two", "2"}, "0 times": {"a.go", "three", "3"}, "changes nothing": {"a.go", "one", "one"}, "no such file": {"b.go", "", "x"},
	} {
		edits := []Edit{{"a.go", "one", "1"}, {e.File, e.Old, e.New}}
		if what == "changes nothing" {
			edits = edits[1:]
		}
		if _, err := f.Apply(edits); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
		if err := Check(dir, edits); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
		want(text)
	}
}

// A failed test must be named once, even if only a subtest failed, or if the test hung.
func TestFailedIn(t *testing.T) {
	text := "--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/x (0.1s)\n        a.go:1: TestB (is not one)\nok  \tsim\t1s\n" +
		"panic: test timed out after 5m0s\n\trunning tests:\n\t\tTestC/y (4m0s)\n"
	if v := failedIn(text); !slices.Equal(v, []string{"TestA", "TestC"}) {
		t.Errorf("tests are %q", v)
	}
}
