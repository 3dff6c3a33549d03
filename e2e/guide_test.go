package e2e

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// guided is one of the guide's two hosts: a namespace with folders of its own for
// configurations and for what runs.
type guided struct {
	*fabric.Host
	etc, run string
	public   string // its key
	private  string
}

// sh runs a command with these folders, in them.
func (h *guided) sh(t *testing.T, command ...string) string {
	t.Helper()
	env := []string{"--chdir=" + h.etc, "SRDTUN_CONFIG_DIR=" + h.etc, "SRDTUN_RUN_DIR=" + h.run,
		"PATH=" + filepath.Dir(bin) + ":" + os.Getenv("PATH")}
	out, err := h.Run("env", append(env, command...)...)
	if err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return out
}

// guidedHost does what the guide says comes first: srdtun init.
func guidedHost(t *testing.T, h *fabric.Host) *guided {
	t.Helper()
	g := &guided{Host: h, etc: t.TempDir(), run: t.TempDir()}
	out := g.sh(t, "srdtun", "init", "lab")
	if m := regexp.MustCompile(`public key: (\S+)`).FindStringSubmatch(out); m != nil {
		g.public = m[1]
	}
	file, err := os.ReadFile(filepath.Join(g.etc, "lab.toml"))
	m := regexp.MustCompile(`(?m)^private_key = "(.*)"`).FindSubmatch(file)
	if err != nil || m == nil || g.public == "" {
		t.Fatalf("init: %v: %s\n%s", err, out, file)
	}
	g.private = string(m[1])
	return g
}

// write puts the file of the guide there, with a key file beside it.
func (h *guided) write(t *testing.T, text string) {
	t.Helper()
	for name, data := range map[string]string{"lab.toml": text, "lab.key": h.private + "\n"} {
		if err := os.WriteFile(filepath.Join(h.etc, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// command is one that the guide tells to run, and what it says that comes out.
type command struct{ line, says string }

var (
	codeSpan = regexp.MustCompile("`((?:srdtun|sysctl) [^`]+)`")
	// A line of a block; what is quoted behind it is its output.
	codeLine = regexp.MustCompile(`(?m)^    ((?:srdtun|sysctl|ip) [^#\n]*?) *(?:# (?:"(.*)")?.*)?$`)
)

// commandsOf returns all commands of a document. A word in a block that begins no command
// known here would be missed, so blocks are counted as well: each is one of commands or
// one of a configuration.
func commandsOf(t *testing.T, text string) (v []command) {
	t.Helper()
	for _, m := range codeSpan.FindAllStringSubmatch(text, -1) {
		v = append(v, command{line: m[1]})
	}
	for _, m := range codeLine.FindAllStringSubmatch(text, -1) {
		v = append(v, command{m[1], m[2]})
	}
	for _, block := range strings.Split(text, "\n\n") {
		if strings.HasPrefix(block, "    ") && !strings.Contains(block, " = ") && !codeLine.MatchString(block) {
			t.Errorf("neither a configuration nor commands:\n%s", block)
		}
	}
	return v
}

// upCommand is how the guide starts an end.
const upCommand = "srdtun up -d lab"

// TestGuideCommands does what docs/guide.md says, with its own words, on two hosts and
// four spines: its first configuration, then every command in it. What config/guide_test.go
// does for the other configurations, this does for commands: one that is not here fails.
func TestGuideCommands(t *testing.T) {
	side(t)
	data, err := os.ReadFile("../docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	f := network(t, fabric.Spec{})
	first, second := guidedHost(t, f.A(1)), guidedHost(t, f.B(1))
	_, conf, ok := strings.Cut(text, "\n    [interface]\n")
	conf, _, end := strings.Cut("[interface]\n"+conf, "\n\n")
	if !ok || !end {
		t.Fatal("no configuration in the guide")
	}
	conf = strings.ReplaceAll(conf, "\n    ", "\n")
	swap := func(v ...string) string { return strings.NewReplacer(v...).Replace(conf) }
	first.write(t, swap("PRIVATE KEY OF THE FIRST", first.private, "PUBLIC KEY OF THE SECOND", second.public, "203.0.113.2", f.B(1).Addr4().String()))
	// "and the mirror image on the second"
	second.write(t, swap("PRIVATE KEY OF THE FIRST", second.private, "PUBLIC KEY OF THE SECOND", first.public, "203.0.113.2", f.A(1).Addr4().String(),
		"10.80.0.1", "10.80.0.2", "10.80.0.2", "10.80.0.1", `"second"`, `"first"`))
	for _, h := range []*guided{first, second} {
		h.sh(t, strings.Fields(upCommand)...)
		t.Cleanup(func() { h.sh(t, "srdtun", "down", "lab") })
	}
	first.sh(t, "srdtun", "wait", "lab", "--peer", "second", "--timeout", "10s")
	first.sh(t, "ping", "-n", "-q", "-c", "20", "-i", "0.02", "-W", "2", "10.80.0.2")
	if t.Failed() {
		t.FailNow()
	}
	iperf(t, f, netip.MustParseAddr("10.80.0.2"))
	commands := commandsOf(t, text)
	if len(commands) < 9 {
		t.Fatalf("%d commands: this is not the guide", len(commands))
	}
	done := map[string]bool{}
	for _, c := range commands {
		line := strings.ReplaceAll(c.line, "NAME", "lab")
		words := strings.Fields(line)
		if done[line] && c.says == "" {
			continue
		}
		done[line] = true
		switch {
		case words[0] == "sysctl": // procps, which a bare Debian lacks; sysctl(8) writes this file
			key, value, _ := strings.Cut(words[len(words)-1], "=")
			file := "/proc/sys/" + strings.ReplaceAll(key, ".", "/")
			first.sh(t, "sh", "-c", fmt.Sprintf("echo %s >%s && grep -qx %[1]s %[2]s", value, file))
		case line == upCommand: // was run above, on both
		case words[1] == "init": // was run above; here into a file of its own
			first.sh(t, append(words, "-o", "-")...)
		default:
			out := strings.Join(strings.Fields(first.sh(t, words...)), " ")
			if says := strings.Join(strings.Fields(c.says), " "); !strings.Contains(out, says) {
				t.Errorf("%s: does not say %q, but\n%s", line, says, out)
			}
		}
	}
	var status struct {
		Peers []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(first.sh(t, "srdtun", "show", "lab", "--json")), &status); err != nil || len(status.Peers) != 1 {
		t.Errorf("%v: %+v", err, status)
	}
	t.Logf("%d commands", len(done))
}
