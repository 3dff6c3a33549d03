package config

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// fragments are the pieces of a configuration in the guide: indented by four spaces, and
// either beginning with a section or keys of a peer.
func fragments(t *testing.T) (v []string) {
	t.Helper()
	text, err := os.ReadFile("../docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(text), "\n\n") {
		if !strings.HasPrefix(block, "    ") {
			continue
		}
		block = strings.ReplaceAll("\n"+block, "\n    ", "\n")
		if strings.Contains(block, " = ") {
			v = append(v, block)
		}
	}
	return v
}

var (
	placeholder = regexp.MustCompile(`"PUBLIC KEY[^"]*"`)
	keyFile     = regexp.MustCompile(`private_key_file = "[^"]*"`)
	hooked      = regexp.MustCompile(`(?m)^(post_up|pre_down) = `)
)

// Every piece of a configuration in the guide is one that srdtun takes, once keys are put
// in, and what a fragment leaves out.
func TestGuideIsTaken(t *testing.T) {
	all := fragments(t)
	if len(all) < 8 {
		t.Fatalf("%d fragments: this is not the guide", len(all))
	}
	private := `private_key = "` + wgPairs[0].private + `"` + "\n"
	for _, f := range all {
		f = placeholder.ReplaceAllString(f, `"`+wgPairs[1].public+`"`)
		f = keyFile.ReplaceAllString(f, "")
		switch {
		case strings.Contains(f, "[interface]\n"):
			f = strings.Replace(f, "[interface]\n", "[interface]\n"+private, 1)
		case hooked.MatchString(f):
			f = "[interface]\n" + private + f
		case strings.HasPrefix(strings.TrimSpace(f), "allowed_ips"):
			f = "[interface]\n" + private + "[[peer]]\n" + f
		default:
			f = "[interface]\n" + private + f
		}
		if i := strings.Index(f, "[[peer]]\n"); i >= 0 && !strings.Contains(f, "public_key") {
			f = f[:i] + "[[peer]]\npublic_key = \"" + wgPairs[1].public + "\"\n" + f[i+len("[[peer]]\n"):]
		}
		if _, err := Parse("/etc/srdtun/lab.toml", []byte(f)); err != nil {
			t.Errorf("%v\n%s", err, f)
		}
	}
}
