package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// The programs nft and sh must accept the examples.
func TestExamplesAreValid(t *testing.T) {
	side(t)
	for _, c := range [][]string{
		{"unshare", "--net", "nft", "--file", "../contrib/nftables.conf"},
		{"sh", "-n", "../contrib/firewalld.sh"},
		{"sh", "-n", "../packaging/package.sh"},
		{"sh", "-c", `for f in ../packaging/scripts/*.sh; do sh -n "$f" || exit 1; done`},
	} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v: %s", c, err, out)
		}
	}
}

// The health checks of the image and of contrib/compose.yaml must succeed for a working tunnel, and
// fail if the peer is unreachable or no tunnel runs.
func TestHealthcheckOfTheImage(t *testing.T) {
	side(t)
	var commands [][]string
	for file, line := range map[string]*regexp.Regexp{
		"../Dockerfile":           regexp.MustCompile(`(?m)^HEALTHCHECK .* CMD \[(.*)\]$`),
		"../contrib/compose.yaml": regexp.MustCompile(`(?m)^ +test: \["CMD", (.*)\]$`),
		"../docs/install.md":      regexp.MustCompile(`(?m)^    HEALTHCHECK .* CMD \[(.*)\]$`),
	} {
		text, err := os.ReadFile(file)
		must(t, err)
		m := line.FindSubmatch(text)
		if m == nil {
			t.Fatalf("no command in %s", file)
		}
		commands = append(commands, strings.Fields(strings.NewReplacer(`"`, "", ",", "", "/usr/bin/srdtun", bin).Replace(string(m[1]))))
	}
	f := network(t, fabric.Spec{})
	h := &guided{Host: f.A(1), etc: t.TempDir(), run: t.TempDir()}
	healthy := func(want bool) {
		t.Helper()
		for _, c := range commands {
			if out, err := h.Run("env", append([]string{"SRDTUN_RUN_DIR=" + h.run}, c...)...); (err == nil) != want {
				t.Errorf("%v: %v, want healthy: %v\n%s", c, err, want, out)
			}
		}
	}
	healthy(false)
	near, far := guidedHost(t, f.A(1)), guidedHost(t, f.B(1))
	h = near
	conf := func(own, other, key, remote string) string {
		return "[interface]\nprivate_key_file = \"lab.key\"\naddress = [\"" + own + "/24\"]\n[[peer]]\nname = \"far\"\npublic_key = \"" + key +
			"\"\nendpoints = [\"" + remote + ":51820\"]\nallowed_ips = [\"" + other + "/32\"]\n"
	}
	near.write(t, conf("10.80.0.1", "10.80.0.2", far.public, f.B(1).Addr4().String()))
	far.write(t, conf("10.80.0.2", "10.80.0.1", near.public, f.A(1).Addr4().String()))
	for _, g := range []*guided{near, far} {
		g.sh(t, "srdtun", "up", "-d", "lab")
	}
	t.Cleanup(func() {
		near.sh(t, "srdtun", "down", "lab")
		far.sh(t, "srdtun", "down", "lab")
	})
	near.sh(t, "srdtun", "wait", "lab", "--peer", "far", "--timeout", "10s")
	near.sh(t, "ping", "-n", "-q", "-c", "3", "-i", "0.2", "-W", "5", "10.80.0.2")
	healthy(true)
	// The peer becomes unreachable without a goodbye. A peer that leaves with a goodbye would not
	// be a fault.
	far.sh(t, "nft", "add table inet cut; add chain inet cut in { type filter hook input priority 0; policy drop; }")
	near.sh(t, "sh", "-c", "ping -n -q -c 8 -W 1 10.80.0.2 || true")
	healthy(false)
}
