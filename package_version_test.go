package srdtun_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPackageVersionsNeverGoBack walks 20 commits as people make them: seconds apart, several in
// a second, as a rebase does, one whose clock was behind, with changes in the tree, with a
// tag in between. The version of each package is later than that of the one before, as dpkg
// and rpm compare.
func TestPackageVersionsNeverGoBack(t *testing.T) {
	script, err := filepath.Abs("packaging/version.sh")
	if err != nil {
		t.Fatal(err)
	}
	repo, at := t.TempDir(), time.Date(2026, 11, 28, 7, 33, 20, 0, time.UTC)
	run := func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		stamp := at.Format(time.RFC3339)
		c.Dir = repo
		c.Env = append(os.Environ(), "GIT_COMMITTER_DATE="+stamp, "GIT_AUTHOR_DATE="+stamp, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v: %s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("git", "init", "-q")
	var all []string
	note := func() {
		t.Helper()
		all = append(all, run("sh", script, run("git", "describe", "--tags", "--always", "--dirty")))
	}
	commit := func(i int) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(repo, "file"), fmt.Append(nil, i), 0o644); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			note() // with changes
		}
		run("git", "add", "file")
		run("git", "commit", "-q", "-m", fmt.Sprint(i))
		note()
	}
	for i := range 20 {
		switch {
		case i%5 == 1 || i%5 == 2: // in the same second
		case i == 8:
			at = at.Add(-time.Hour)
		default:
			at = at.Add(time.Duration(i*i) * 997 * time.Second)
		}
		commit(i)
	}
	if first := "0.0.0~git20261128.073320." + run("git", "rev-list", "--max-parents=0", "--abbrev-commit", "HEAD"); all[0] != first {
		t.Errorf("the first is %s, want %s", all[0], first)
	}
	at = at.Add(time.Second)
	commit(20)
	run("git", "tag", "v0.9.0")
	note()
	for i := 21; i < 34; i++ {
		commit(i)
	}
	dpkg, _ := exec.LookPath("dpkg")
	for i, v := range all[1:] {
		before := all[i]
		if rpmOrder(before, v) >= 0 {
			t.Errorf("rpm: %s is not later than %s", v, before)
		}
		if dpkg != "" && exec.Command(dpkg, "--compare-versions", before, "lt", v).Run() != nil {
			t.Errorf("dpkg: %s is not later than %s", v, before)
		}
	}
}

// rpmOrder compares versions as rpm does (rpmvercmp): piece by piece, a number with a number
// and letters with letters. A number is later than letters, and ~ is before the end.
func rpmOrder(a, b string) int {
	for a != "" || b != "" {
		skip := func(s string) string {
			return strings.TrimLeftFunc(s, func(r rune) bool { return r != '~' && !digit(r) && !letter(r) })
		}
		a, b = skip(a), skip(b)
		switch at, bt := strings.HasPrefix(a, "~"), strings.HasPrefix(b, "~"); {
		case at && bt:
			a, b = a[1:], b[1:]
			continue
		case at:
			return -1
		case bt:
			return 1
		}
		if a == "" || b == "" {
			return len(a) - len(b)
		}
		kind := letter
		if digit(rune(a[0])) {
			kind = digit
		}
		cut := func(s string) (piece, rest string) {
			rest = strings.TrimLeftFunc(s, kind)
			return s[:len(s)-len(rest)], rest
		}
		var p, q string
		p, a = cut(a)
		if q, b = cut(b); q == "" { // of the other kind
			if digit(rune(p[0])) {
				return 1
			}
			return -1
		}
		if digit(rune(p[0])) {
			p, q = strings.TrimLeft(p, "0"), strings.TrimLeft(q, "0")
			if len(p) != len(q) {
				return len(p) - len(q)
			}
		}
		if c := strings.Compare(p, q); c != 0 {
			return c
		}
	}
	return 0
}

func digit(r rune) bool  { return r >= '0' && r <= '9' }
func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

func TestRPMOrder(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"1.0", "1.0", 0}, {"1.0", "2.0", -1}, {"2.0.1a", "2.0.1", 1}, {"5.5p1", "5.5p10", -1}, {"10xyz", "10.1xyz", -1},
		{"xyz10", "xyz10.1", -1}, {"1.0~rc1", "1.0", -1}, {"1.0~rc1~git1", "1.0~rc1", -1}, {"6.0.rc1", "6.0", 1}, {"1b.fc17", "1.fc17", -1}, {"00009", "9", 0},
	} {
		if got := rpmOrder(c.a, c.b); got < 0 != (c.want < 0) || got > 0 != (c.want > 0) {
			t.Errorf("%s, %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
