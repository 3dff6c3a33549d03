package handover

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/overlay/control/rundir"
)

func TestPeersAreRead(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(rundir.Env, dir)
	if got, err := ReadPeers("lab"); got != nil || err != nil {
		t.Errorf("without a file: %v, %v", got, err)
	}
	want := []Peer{{Key: "k", Addresses: []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:5"), netip.MustParseAddrPort("[2001:db8::1]:6")}}}
	must(t, WritePeers("lab", want))
	if got, err := ReadPeers("lab"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if s, err := os.Stat(filepath.Join(dir, "lab.peers")); err != nil || s.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: only the daemon is to know where its peers are", s, err)
	}
	for range 2 {
		if err := RemovePeers("lab"); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestForeignPeersAreRefused(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(rundir.Env, dir)
	for why, data := range map[string]string{
		"damaged":                   `{"version":1,`,
		"format 2":                  `{"version":2,"network_namespace":"` + network() + `"}`,
		"another network namespace": `{"version":1,"network_namespace":"net:[1]"}`,
		"has more than":             strings.Repeat(" ", maxState+1),
	} {
		must(t, os.WriteFile(filepath.Join(dir, "lab.peers"), []byte(data), 0o600))
		if got, err := ReadPeers("lab"); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, %v", why, got, err)
		}
	}
	// A file from an earlier boot is ignored without an error.
	data := `{"version":1,"network_namespace":"` + network() + `","boot_id":"x","peers":[{"key":"x"}]}`
	must(t, os.WriteFile(filepath.Join(dir, "lab.peers"), []byte(data), 0o600))
	if got, err := ReadPeers("lab"); err != nil || got != nil {
		t.Errorf("of another boot: %v, %v", got, err)
	}
}
