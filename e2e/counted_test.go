package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// counted reads a counter of a host's kernel from /proc/net/snmp or /proc/net/netstat. Each
// protocol has a line with names and a line with values.
func counted(t *testing.T, h *fabric.Host, file, protocol, name string) int {
	t.Helper()
	out := command(t, h, "cat", "/proc/net/"+file)
	var names []string
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if f[0] != protocol {
			continue
		}
		if names == nil {
			names = f
			continue
		}
		i := slices.Index(names, name)
		if i < 0 {
			break
		}
		n, err := strconv.Atoi(f[i])
		must(t, err)
		return n
	}
	t.Fatalf("no counter %s of %s", name, protocol)
	return 0
}
