package e2e

import (
	"os/exec"
	"testing"
)

// The examples are at least what nft and the shell take.
func TestExamplesAreValid(t *testing.T) {
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
