package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/fleet/etcd"
	"github.com/srdtun/srdtun/fleet/internal/member"
	"github.com/srdtun/srdtun/fleet/k8s"
)

const keyA = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE="

// usage is a command line and its expected exit code.
type usage struct {
	args string
	want int
}

// allows writes an allow list with one member.
func allows(t *testing.T, name string) string {
	t.Helper()
	list := filepath.Join(t.TempDir(), "allow")
	if err := os.WriteFile(list, []byte(name+" "+keyA+" 10.80.0.1/32\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return list
}

func check(t *testing.T, p *member.Program, all []usage) {
	t.Helper()
	for _, c := range all {
		if got := p.Run(strings.Fields(c.args)); got != c.want {
			t.Errorf("%s: exit code %d, want %d", c.args, got, c.want)
		}
	}
}

func TestUsageOfEtcd(t *testing.T) {
	list := allows(t, "a")
	check(t, etcd.Program(""), []usage{
		{"join", member.ExitUsage},
		{"join a", member.ExitUsage},                                                                     // no --dir
		{"join a --dir /nonexistent", member.ExitFailure},                                                // no policy
		{"join a --dir /nonexistent --lease 11s --allow " + list, member.ExitUsage},                      // longer than 10 s
		{"join b --dir /nonexistent --allow " + list, member.ExitFailure},                                // not listed
		{"join a --dir /nonexistent --prefix x --allow " + list, member.ExitUsage},                       // no slash in the prefix
		{"join a --dir /nonexistent --user root --allow " + list, member.ExitUsage},                      // no password
		{"join a --dir /nonexistent --cert x --allow " + list, member.ExitUsage},                         // http
		{"join a --dir /nonexistent --address example.org:1 --allow " + list, member.ExitUsage},          // a host name
		{"join a --dir /nonexistent --endpoints https://x:1 --cert x --allow " + list, member.ExitUsage}, // no --key
		{"members", member.ExitFailure},
		{"sign a", member.ExitUsage},
		{"leave ../a", member.ExitUsage},
		{"--nonsense", member.ExitUsage},
	})
}

func TestUsageOfKubernetes(t *testing.T) {
	list, config := allows(t, "n1"), filepath.Join(t.TempDir(), "config")
	check(t, k8s.Program(""), []usage{
		{"join", member.ExitUsage},
		{"join n1", member.ExitUsage},                                      // no --dir
		{"join n1 --dir /nonexistent", member.ExitFailure},                 // no policy
		{"join n9 --dir /nonexistent --allow " + list, member.ExitFailure}, // not listed
		{"join n1 --dir /nonexistent --allow " + list, member.ExitFailure}, // not in a pod
		{"join n1 --dir /nonexistent --allow " + list + " --kubeconfig " + config, member.ExitFailure},
		{"join n1 --dir /nonexistent --annotation= --allow " + list, member.ExitUsage},
		{"members", member.ExitFailure},
		{"leave ../n1", member.ExitUsage},
		{"sign n1", member.ExitUsage},
		{"--nonsense", member.ExitUsage},
	})
}
