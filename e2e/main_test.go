package e2e

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// tools maps each program that the tests need to its Debian package.
var tools = map[string]string{
	"ip": "iproute2", "tc": "iproute2", "ss": "iproute2", "nft": "nftables", "ethtool": "ethtool", "ping": "iputils-ping",
	"iperf3": "iperf3", "curl": "curl", "redis-server": "redis-server", "redis-benchmark": "redis-tools", "redis-cli": "redis-tools",
	"prometheus": "prometheus", "promtool": "prometheus", "chromium": "chromium",
	"etcd": "etcd-server", "etcdctl": "etcd-client",
}

// bin is the path of the tested srdtun binary.
var bin string

func TestMain(m *testing.M) {
	if os.Getenv(userEnv) != "" {
		if err := beUser(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e, the program with a thousand handles:", err)
			os.Exit(1)
		}
		return
	}
	if err := setUp(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func setUp() error {
	flag.Parse()
	if err := choose(); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("these tests make network namespaces and so need root")
	}
	for tool, pkg := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is missing: apt-get install %s", tool, pkg)
		}
	}
	dir, err := fabric.Scratch()
	if err != nil {
		return err
	}
	if bin = os.Getenv("SRDTUN_BIN"); bin != "" {
		return nil
	}
	bin = filepath.Join(dir, "srdtun")
	build := exec.Command("go", "build", "-o", bin, "github.com/srdtun/srdtun/cmd/srdtun")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// network builds a fabric that is removed at the end of the test.
func network(t *testing.T, spec fabric.Spec) *fabric.Fabric {
	t.Helper()
	f, err := fabric.New(spec)
	must(t, err)
	cleanUp(t, f)
	return f
}

// closer is closed at the end of a test, and reports facts about a failure.
type closer interface {
	Report() string
	Close() error
}

func cleanUp(t *testing.T, c closer) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Report())
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// pair starts a daemon on hA1 (node A, 10.9.0.1) and a daemon on hB1 (node B, 10.9.0.2), and waits
// until they reach each other.
func pair(t *testing.T, f *fabric.Fabric, c tunnel.Config) *tunnel.Pair {
	t.Helper()
	return pairOver(t, f, c, false)
}

func pairOver(t *testing.T, f *fabric.Fabric, c tunnel.Config, outer6 bool) *tunnel.Pair {
	t.Helper()
	p, err := tunnel.NewPair(bin, f.A(1), f.B(1), c, outer6)
	if p != nil {
		cleanUp(t, p)
	}
	must(t, err)
	return p
}

// node makes a node, and leaves the start to the test.
func node(t *testing.T, h *fabric.Host, suffix string, c tunnel.Config) *tunnel.Node {
	t.Helper()
	n, err := tunnel.NewNode(bin, h, suffix, c)
	must(t, err)
	cleanUp(t, n)
	return n
}

// statusOf decodes the node's status into v, which has only the fields that the test needs.
func statusOf(t *testing.T, n *tunnel.Node, v any) {
	t.Helper()
	raw, err := n.Show()
	must(t, err)
	must(t, json.Unmarshal(raw, v))
}

// command runs a command on a host or a leaf, and returns its output.
func command(t *testing.T, at interface {
	Run(name string, args ...string) (string, error)
}, name string, args ...string) string {
	t.Helper()
	out, err := at.Run(name, args...)
	must(t, err)
	return out
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
