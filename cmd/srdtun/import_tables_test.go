package main

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// The names of tables are read from the same files as by ip(8).
func TestRoutingTablesHaveNames(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a/rt_tables":               "#\n255\tlocal\n200 vpn\n0x10 hex # as ip takes\n\nnonsense\n1\n",
		"b/rt_tables":               "201 vpn\n",
		"b/rt_tables.d/mine.conf":   "300 lan\n",
		"b/rt_tables.d/ignored.txt": "301 no\n",
	} {
		file := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	got := routingTables([]string{dir + "/none", dir + "/a", dir + "/b"})
	want := map[string]uint32{"local": 255, "vpn": 201, "hex": 16, "lan": 300}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
