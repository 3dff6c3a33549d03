package main

import (
	"slices"
	"testing"
)

// A tree small enough to count by hand.
func TestCounts(t *testing.T) {
	rows, err := count("testdata/tree")
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]int{
		"methods on Conn":                      3, // Next, Close, and tick of what is embedded
		"leaf state of Conn with its machines": 6, // clock, late, keys.sent, paths.table, recovery.lost, control
		"leaf state of a path":                 4, // state, rtt's two, since
		"leaf state of cc.SRD":                 3, // window, acked, lost
		"constants that decide":                4, // gain, grown, later, parts; none of an enumeration, or of conn.go
		"numbers in functions, but 0, 1, 2":    1, // 3 in late
		"arrows between files of srd":          9, // conn.go has env, which all but path.go use
		"... that run up":                      4, // four pairs use each other
		"stays of now on its way through Next": 7, // conn recovery path rtt, paths path, recovery
		"... in a file that it has left":       2, // path, recovery
	} {
		i := slices.IndexFunc(rows, func(r row) bool { return r.what == what })
		if i < 0 {
			t.Errorf("no row %q", what)
		} else if rows[i].count != want {
			t.Errorf("%s: %d, want %d: %q", what, rows[i].count, want, rows[i].items)
		}
	}
}

// A user comes before the file it uses. Of a circle the fewest arrows run up.
func TestLayers(t *testing.T) {
	names := []string{"x"}
	arrows := map[arrow][]string{
		{"a", "b"}: names, {"b", "c"}: names, {"c", "d"}: names, {"a", "d"}: names, {"d", "b"}: names,
	}
	up := upOf(arrows, layersOf(arrows))
	if len(up) != 1 {
		t.Errorf("%v run up, want one of the circle b, c, d", up)
	}
}

// A file of srd in neither list counts as core, so that a move hides nothing.
func TestUnknownFilesDecide(t *testing.T) {
	for file, want := range map[string]bool{
		"srd/price.go": true, "srd/recovery_ack.go": true, "srd/conn_recv.go": false, "srd/paths_life.go": false, "srd/path.go": true,
	} {
		if decides("srd", file) != want {
			t.Errorf("%s decides: %v, want %v", file, !want, want)
		}
	}
	if decides("srd/steer", "srd/steer/conga.go") {
		t.Error("conga.go decides")
	}
}
