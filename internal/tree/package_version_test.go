package tree

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPackageVersionsNeverGoBack makes commits of many kinds. Some are seconds apart, and
// several are in the same second, as after a rebase. One is made with a slow clock. Some
// trees have uncommitted changes. Then follow a release, commits after it, the next number
// in VERSION and the next release. The version of each package must be later than the one
// before, by dpkg's and rpm's order. The first must be later than all versions from the
// time before the file VERSION existed.
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
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(repo, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run("git", "init", "-q")
	write("VERSION", "0.3.0\n")
	run("git", "add", "VERSION")
	all := []string{"0.0.0~git20261128.073319.9a96a77"}
	note := func() (shown string) {
		t.Helper()
		shown = run("sh", script)
		all = append(all, run("sh", script, shown))
		return shown
	}
	commit := func(i int) {
		t.Helper()
		write("file", fmt.Sprint(i))
		if i > 0 {
			note() // with uncommitted changes
		}
		run("git", "add", "file")
		run("git", "commit", "-q", "-m", fmt.Sprint(i))
		note()
	}
	const commits = 20
	few := func(n int) int { // with -short, one of each kind
		if testing.Short() {
			return min(n, 3)
		}
		return n
	}
	for i := range few(commits) {
		switch {
		case i%5 == 1 || i%5 == 2: // in the same second
		case i == 8:
			at = at.Add(-time.Hour)
		default:
			at = at.Add(time.Duration(i*i) * 997 * time.Second)
		}
		commit(i)
	}
	hash := run("git", "rev-list", "--max-parents=0", "--abbrev=10", "--abbrev-commit", "HEAD")
	if want := "0.3.0~git20261128.073320." + hash; all[1] != want {
		t.Errorf("the first is %s, want %s", all[1], want)
	}
	at = at.Add(time.Second)
	commit(commits)
	if shown, want := note(), "0.3.0-dev."+run("git", "rev-parse", "--short=10", "HEAD"); shown != want {
		t.Errorf("a commit that is not released is %s, want %s", shown, want)
	}
	all = all[:len(all)-1] // the last version is twice in it
	release := func(number string) {
		t.Helper()
		run("git", "tag", "v"+number)
		if shown := note(); shown != number || all[len(all)-1] != number {
			t.Errorf("the release is %s, its package %s; want %s", shown, all[len(all)-1], number)
		}
	}
	release("0.3.0")
	for i := range few(13) {
		commit(commits + 1 + i)
	}
	write("VERSION", "0.4.0\n")
	run("git", "add", "VERSION")
	for i := range few(6) {
		commit(2*commits + i)
	}
	release("0.4.0")
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

// TestVersionWithoutGit checks that an archive of the tree has only the number of VERSION.
func TestVersionWithoutGit(t *testing.T) {
	script, err := filepath.Abs("packaging/version.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "VERSION"), []byte("0.3.0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"": "0.3.0-dev", "0.3.0-dev": "0.3.0~dev", "v0.9.1": "0.9.1", "0.3.0": "0.3.0", "0.3.0-5-g0a1b2c3d4e-dirty": "0.3.0.5.g0a1b2c3d4e+dirty",
	} {
		c := exec.Command("sh", append([]string{script}, strings.Fields(args)...)...)
		c.Dir, c.Env = dir, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		if out, err := c.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%q: %v: %s, want %s", args, err, out, want)
		}
	}
}

// TestChangelogHasTheVersion checks that VERSION is the changelog's newest version.
func TestChangelogHasTheVersion(t *testing.T) {
	version, err := os.ReadFile("VERSION")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## [")
	if newest, _, _ := strings.Cut(rest, "]"); newest != strings.TrimSpace(string(version)) {
		t.Errorf("CHANGELOG.md begins with %s, VERSION is %s", newest, version)
	}
}

// rpmOrder compares versions as rpm does (rpmvercmp), piece by piece: numbers with
// numbers and letters with letters. A number is later than letters, and ~ is before the
// end.
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
		if q, b = cut(b); q == "" { // the piece of the other version is of another kind
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
