package fabric

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestEnableMPTCP checks which addresses of a host the kernel's MPTCP uses, and on which network
// card.
func TestEnableMPTCP(t *testing.T) {
	d, err := NewDirect(DirectSpec{Links: 4})
	must(t, err)
	t.Cleanup(func() { d.Close() })
	err = d.A.EnableMPTCP(d.A.V4[1:2], d.A.V4[2:])
	if _, e := os.Stat("/proc/sys/net/mptcp"); errors.Is(e, fs.ErrNotExist) {
		if err == nil {
			t.Error("a kernel without MPTCP has it")
		}
		return
	}
	must(t, err)
	have, err := d.A.Run("ip", "mptcp", "endpoint", "show")
	must(t, err)
	for _, want := range []string{"10.1.2.1 id 1 signal dev eth1", "10.1.3.1 id 2 subflow fullmesh dev eth2", "10.1.4.1 id 3 subflow fullmesh dev eth3"} {
		if !strings.Contains(have, want) {
			t.Errorf("no %q in:\n%s", want, have)
		}
	}
	if err := d.A.EnableMPTCP(d.B.V4[1:2], nil); err == nil {
		t.Error("an address of another host is accepted")
	}
}
