package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/internal/manualtest"
)

// documentLine is a command line of a document, and the output that the document shows for it.
type documentLine struct {
	manualtest.Line
	says string
}

// documented returns the command lines of the user documents, and those of the guide first. The
// lines come from the code blocks that the table assigns to this test, and from commands within
// sentences. Within a sentence, "srdtun set" is only the name of a command.
func documented(t *testing.T) (v []documentLine) {
	t.Helper()
	docs, err := manualtest.Documents("..")
	must(t, err)
	seen := map[string]bool{}
	add := func(l manualtest.Line, says string) {
		if !seen[l.Text] || says != "" {
			v = append(v, documentLine{l, says})
		}
		seen[l.Text] = true
	}
	for _, doc := range append([]string{guide}, slices.Sorted(maps.Keys(docs))...) {
		text := docs[doc]
		if !manualtest.ForUsers(doc) || doc == guide && len(v) > 0 {
			continue
		}
		for _, l := range manualtest.Lines(doc, text) {
			calls := append(l.Calls("srdtun"), l.Calls("sysctl")...)
			if !l.Block && len(calls) > 0 && (len(calls) > 1 || len(calls[0]) > 1) {
				add(l, "")
			}
		}
		blocks, _ := manualtest.Split(doc, text)
		for _, b := range blocks {
			if r := manualtest.RowOf(b); r == nil || r.By != manualtest.ByCommands {
				continue
			}
			says, commands := map[string]string{}, 0
			if doc == guide { // elsewhere it depends on earlier commands
				says = b.Output()
			}
			for _, l := range b.Lines() {
				if isCommand(l.Text) {
					add(l, says[l.Text])
					commands++
				}
			}
			if commands == 0 && !strings.Contains(b.Text, " = ") {
				t.Errorf("%s: neither a configuration nor commands:\n%s", doc, b.Text)
			}
		}
	}
	return v
}

// isCommand reports whether a line is a command, and not only a command's name or a configuration.
func isCommand(line string) bool {
	word, _, _ := strings.Cut(strings.TrimPrefix(line, "sudo "), " ")
	return slices.Contains([]string{"srdtun", "ping", "sysctl", "ip"}, word) || manualtest.Elsewhere[word] != ""
}

// elsewhere reports whether the table excludes the line from this test.
func elsewhere(line string) bool {
	for first := range manualtest.Elsewhere {
		if strings.HasPrefix(strings.TrimPrefix(line, "sudo ")+" ", first+" ") {
			return true
		}
	}
	return false
}

// prepare writes the files that the documents assume: a file of wg-quick, and a file with another
// peer. It returns the values of placeholders and examples.
func prepare(t *testing.T, h *guided, peer string) *strings.Replacer {
	t.Helper()
	files := map[string]string{
		"wg0.conf":  "[Interface]\nPrivateKey = " + h.private + "\nAddress = 10.90.0.1/24\n[Peer]\nPublicKey = " + peer + "\nAllowedIPs = 10.90.0.2/32\n",
		"left.toml": "[[peer]]\nname = \"left\"\npublic_key = \"" + strings.TrimSpace(h.sh(t, "sh", "-c", "srdtun genkey | srdtun pubkey")) + "\"\nallowed_ips = [\"10.80.0.78/32\"]\n",
		"more.toml": "[[peer]]\nname = \"more\"\npublic_key = \"" + strings.TrimSpace(h.sh(t, "sh", "-c", "srdtun genkey | srdtun pubkey")) + "\"\nallowed_ips = [\"10.80.0.77/32\"]\n",
	}
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(h.etc, name), []byte(text), 0o600))
	}
	return strings.NewReplacer("sudo ", "", "init NAME", "init lab -o -", "[NAME]", "lab", "NAME", "lab", "PEER", "second", "office", "second", "NODE", "lab",
		"addconf lab FILE", "addconf lab more.toml", "syncconf lab FILE", "syncconf lab lab.toml",
		"/etc/srdtun", h.etc, "init lab", "init lab -o -", "ping 10.80.0.2", "ping -n -c 3 -i 0.1 -W 2 10.80.0.2")
}

// inShell adapts a documented line for a shell on the first host.
func inShell(line string, meant *strings.Replacer, remote string) string {
	line = strings.ReplaceAll(meant.Replace(line), "203.0.113.9", remote)
	if strings.Contains(line, "--follow") { // without an end
		return "timeout 1 " + line + " || test $? = 124"
	}
	words := strings.Fields(line)
	if words[0] != "sysctl" {
		return line
	}
	// The command sysctl is part of procps, which a minimal Debian lacks. The test writes to the
	// same file as sysctl(8).
	key, value, _ := strings.Cut(words[len(words)-1], "=")
	file := "/proc/sys/" + strings.ReplaceAll(key, ".", "/")
	return fmt.Sprintf("echo %s >%s && grep -qx %[1]s %[2]s", value, file)
}

// TestDocumentCommands runs the commands of the user documents, word for word, on two hosts and
// four spines. The hosts are set up as in docs/guide.md. The guide's own commands run first, and
// commands that stop something run last.
func TestDocumentCommands(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	first, second := guidedHosts(t, f)
	meant := prepare(t, first, second.public)
	var last []documentLine
	run, failed := 0, false
	do := func(l documentLine) {
		run++
		out := first.sh(t, "sh", "-e", "-c", inShell(l.Text, meant, f.B(1).Addr4().String()))
		if got, want := strings.Join(strings.Fields(out), " "), strings.Join(strings.Fields(l.says), " "); !strings.Contains(got, want) {
			t.Errorf("%s does not say %q, but\n%s", l.Text, want, out)
		}
		if t.Failed() && !failed {
			failed = true
			t.Errorf("the first that fails is in %s: %s", l.Doc, l.Text)
		}
	}
	play := func(lines []documentLine) {
		for _, l := range lines {
			switch {
			case elsewhere(l.Text):
			case len(l.Calls("srdtun")) > 0 && l.Calls("srdtun")[0][0] == "down":
				if !slices.ContainsFunc(last, func(o documentLine) bool { return meant.Replace(o.Text) == meant.Replace(l.Text) }) {
					last = append(last, l)
				}
			default:
				do(l)
			}
		}
	}
	lines := documented(t)
	own := slices.IndexFunc(lines, func(l documentLine) bool { return l.Doc != guide })
	play(lines[:own])
	var status struct {
		Peers []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(first.sh(t, "srdtun", "show", "lab", "--json")), &status); err != nil || len(status.Peers) != 1 {
		t.Errorf("%v: %+v", err, status)
	}
	first.addPeer(t, "left.toml") // the other documents name it
	play(lines[own:])
	if len(last) != 1 || own < 9 || run < 34 {
		t.Errorf("%d commands, %d of the guide, %d that end: these are not the documents", run, own, len(last))
	}
	do(last[0])
	t.Logf("%d commands", run)
}

// TestFleetCommands makes a fleet's key and signs a grant, following docs/fleet.md.
func TestFleetCommands(t *testing.T) {
	side(t)
	text, err := os.ReadFile("../docs/fleet.md")
	must(t, err)
	script := "set -e\n"
	blocks, _ := manualtest.Split("docs/fleet.md", string(text))
	for _, b := range blocks {
		if r := manualtest.RowOf(b); r != nil && r.By == t.Name() {
			script += b.Text + "\n"
		}
	}
	key, err := exec.Command("sh", "-c", bin+" genkey | "+bin+" pubkey").Output()
	must(t, err)
	dir := t.TempDir()
	run := exec.Command("sh", "-c", strings.ReplaceAll(script, " KEY ", " "+strings.TrimSpace(string(key))+" "))
	agent := filepath.Join(dir, "srdtun-etcd")
	must(t, os.Symlink(etcdAgent(t), agent))
	run.Dir, run.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, script)
	}
	if _, err := os.Stat(filepath.Join(dir, "ledger", "db7.grant")); err != nil {
		t.Error(err)
	}
}

// TestFleetKeyHasOneSpelling tries to sign a key in a second encoding that X25519 accepts. With a
// second encoding, a denied member could rejoin.
func TestFleetKeyHasOneSpelling(t *testing.T) {
	side(t)
	dir, agent := t.TempDir(), etcdAgent(t)
	run := func(args ...string) (string, error) {
		c := exec.Command(agent, args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := run("fleetkey", "fleet.key"); err != nil {
		t.Fatal(out, err)
	}
	for key, want := range map[string]bool{
		"xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=":   true,
		"xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Lg=":   false, // the top bit
		"7////////////////////////////////////////38=":   false, // p+2
		"xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg":    false,
		"xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dh=":   false, // an unused bit is set in the last character
		"xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=\n": false,
	} {
		must(t, os.Mkdir(filepath.Join(dir, "ledger"), 0o700))
		out, err := run("sign", "--key", "fleet.key", "--fleet", "prod", "--ledger", "ledger", "--public-key", key, "--allowed-ips", "10.80.0.7/32", "m")
		if (err == nil) != want {
			t.Errorf("%q: %v, %s", key, err, out)
		}
		if grants, _ := filepath.Glob(filepath.Join(dir, "ledger", "*")); want != (len(grants) == 1) {
			t.Errorf("%q: %d grants", key, len(grants))
		}
		os.RemoveAll(filepath.Join(dir, "ledger"))
	}
}
