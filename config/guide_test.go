package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fragments returns the pieces of configurations in a document. A piece is indented by four spaces,
// and begins with a section's header or with a key.
func fragments(t *testing.T, file string) (v []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	for _, block := range strings.Split(string(text), "\n\n") {
		if !strings.HasPrefix(block, "    ") {
			continue
		}
		block = strings.ReplaceAll("\n"+block, "\n    ", "\n")
		if beginning.MatchString(block) {
			v = append(v, block)
		}
	}
	return v
}

var (
	// beginning matches the first line of a configuration or of a piece of one.
	beginning = regexp.MustCompile(`\A\n(\[[a-z[]|[a-z_]+ = ["[0-9tf])`)
	// setting matches a key with its value in a sentence. The section may precede the key.
	setting     = regexp.MustCompile("`(\\[[a-z]+\\] |[a-z]+\\.)?([a-z_]+) = (\"[^`]*\"|\\[[^`]*\\]|[0-9]+|true|false)`")
	placeholder = regexp.MustCompile(`public_key = "(PUBLIC KEY|the key)[^"]*"`)
	keyFile     = regexp.MustCompile(`private_key(_file)? = "[^"]*"`)
	hooked      = regexp.MustCompile(`(?m)^(post_up|pre_down) = `)
)

// srdtun accepts every piece of a configuration in a document, after the test has inserted secrets
// and the required keys that a piece leaves out.
func TestConfigurationsInDocuments(t *testing.T) {
	files, err := filepath.Glob("../docs/*.md")
	must(t, err)
	n := 0
	for _, file := range append(files, "../README.md", "../HACKING.md", "../SECURITY.md") {
		all := fragments(t, file)
		n += len(all)
		if want := map[string]int{"guide.md": 8}[filepath.Base(file)]; len(all) < want {
			t.Errorf("%d fragments in %s, want %d", len(all), file, want)
		}
		for _, f := range all {
			if err := taken(f); err != nil {
				t.Errorf("%s: %v\n%s", file, err, f)
			}
		}
	}
	for _, file := range append(files, "../README.md") {
		text, err := os.ReadFile(file)
		must(t, err)
		for _, m := range setting.FindAllStringSubmatch(string(text), -1) {
			n++
			if err := takenSomewhere(m[1], m[2], m[3]); err != nil {
				t.Errorf("%s: %s: %v", file, m[0], err)
			}
		}
	}
	if n < 20 {
		t.Errorf("%d fragments: these are not the documents", n)
	}
}

// The guide continues the README's recipe, so the peers of both have the same names.
func TestReadmeNamesItsPeerAsTheGuide(t *testing.T) {
	name := regexp.MustCompile(`(?m)^name = "([^"]+)"`)
	var names []string
	for _, file := range []string{"../README.md", "../docs/guide.md"} {
		for _, f := range fragments(t, file) {
			if m := name.FindStringSubmatch(f); m != nil && strings.Contains(f, "203.0.113.2:51820") {
				names = append(names, m[1])
				break
			}
		}
	}
	guide, err := os.ReadFile("../docs/guide.md")
	must(t, err)
	if len(names) != 2 || names[0] != names[1] || !strings.Contains(string(guide), "srdtun wait lab --peer "+names[0]) {
		t.Errorf("the README and the guide name %q, and the guide waits for another peer", names)
	}
}

// takenSomewhere parses a key and its value from a sentence, in the named section, or in any
// section if none is named.
func takenSomewhere(section, key, value string) (err error) {
	sections := []string{strings.Trim(section, "[]. ")}
	if section == "" {
		sections = []string{"interface", "paths", "transport", "order", "peer"}
	}
	// The map has the other keys that a key requires.
	needs := map[string]string{
		"primary": "policy = \"active-backup\"\nlocal = " + value + "\n",
		"weights": "policy = \"wcmp\"\nlocal = [\"eth0\", \"eth1\"]\n",
	}
	for _, s := range sections {
		header := "[" + s + "]\n"
		if s == "peer" {
			header = "[[peer]]\n"
		}
		if err = taken(header + needs[key] + key + " = " + value); err == nil {
			return nil
		}
	}
	return err
}

// taken parses a fragment.
func taken(f string) error {
	private := `private_key = "` + wgPairs[0].private + `"` + "\n"
	f = placeholder.ReplaceAllString(f, `public_key = "`+wgPairs[1].public+`"`)
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
	_, err := Parse("/etc/srdtun/lab.toml", []byte(f))
	return err
}
