package e2e

import (
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/internal/manualtest"
)

// guided is one of the guide's two hosts. Each host has its own folders for configuration and run
// files.
type guided struct {
	*fabric.Host
	etc, run string
	public   string // its key
	private  string
}

// sh runs a command on the host with the host's folders mounted.
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

// guidedHost sets up a host, and takes the guide's first step: srdtun init.
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

// write writes the guide's configuration file and a key file on the host.
func (h *guided) write(t *testing.T, text string) {
	t.Helper()
	for name, data := range map[string]string{"lab.toml": text, "lab.key": h.private + "\n"} {
		must(t, os.WriteFile(filepath.Join(h.etc, name), []byte(data), 0o600))
	}
}

// addPeer appends the peer of another file to the guide's file, and reloads.
func (h *guided) addPeer(t *testing.T, file string) {
	t.Helper()
	h.sh(t, "sh", "-e", "-c", "cat "+file+" >>lab.toml; srdtun reload lab")
}

// guideConfiguration returns the first configuration of docs/guide.md.
func guideConfiguration(t *testing.T) string {
	t.Helper()
	docs, err := manualtest.Documents("..")
	must(t, err)
	blocks, _ := manualtest.Split(guide, docs[guide])
	if len(blocks) == 0 || blocks[0].First() != "[interface]" {
		t.Fatal("no configuration in the guide")
	}
	return blocks[0].Text + "\n"
}

// guide is the document that describes the setup of the hosts.
const guide = "docs/guide.md"

// guidedHosts sets up and connects two hosts over four spines, following the guide's first recipe.
func guidedHosts(t *testing.T, f *fabric.Fabric) (first, second *guided) {
	t.Helper()
	first, second = guidedHost(t, f.A(1)), guidedHost(t, f.B(1))
	conf := guideConfiguration(t)
	swap := func(v ...string) string { return strings.NewReplacer(v...).Replace(conf) }
	first.write(t, swap("PRIVATE KEY OF THE FIRST", first.private, "PUBLIC KEY OF THE SECOND", second.public, "203.0.113.2", f.B(1).Addr4().String()))
	// The guide says: "and the mirror image on the second".
	second.write(t, swap("PRIVATE KEY OF THE FIRST", second.private, "PUBLIC KEY OF THE SECOND", first.public, "203.0.113.2", f.A(1).Addr4().String(),
		"10.80.0.1", "10.80.0.2", "10.80.0.2", "10.80.0.1", `"second"`, `"first"`))
	for _, h := range []*guided{first, second} {
		h.sh(t, strings.Fields(upCommand)...)
	}
	t.Cleanup(func() { second.sh(t, "srdtun", "down", "lab") })
	first.sh(t, "srdtun", "wait", "lab", "--peer", "second", "--timeout", "10s")
	first.sh(t, "ping", "-n", "-q", "-c", "20", "-i", "0.02", "-W", "2", "10.80.0.2")
	if t.Failed() {
		t.FailNow()
	}
	iperf(t, f, netip.MustParseAddr("10.80.0.2"))
	return first, second
}

// upCommand is the guide's command to start an end.
const upCommand = "srdtun up -d lab"
