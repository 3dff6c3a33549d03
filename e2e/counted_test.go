package e2e

import (
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// counted returns a counter of a host's kernel (see fabric.Namespace.Counter).
func counted(t *testing.T, h *fabric.Host, file, protocol, name string) int {
	t.Helper()
	n, err := h.Counter(file, protocol, name)
	must(t, err)
	return n
}
