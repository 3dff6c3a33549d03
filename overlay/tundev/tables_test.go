package tundev

import (
	"testing"

	"golang.zx2c4.com/wireguard/tun"
)

// The version of package tun that is in use has the tables, under the names known here.
func TestTablesAreFreed(t *testing.T) {
	if n := freeTables(new(tun.NativeTun)); n != len(groTables) {
		t.Errorf("%d tables, want %d", n, len(groTables))
	}
}
