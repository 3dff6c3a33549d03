package rivals

import (
	"slices"
	"testing"
)

func TestScheduleInterleaves(t *testing.T) {
	const rounds = 3
	all := schedule(matrix, rounds)
	if len(all) != rounds*len(matrix) {
		t.Fatalf("%d visits, want %d", len(all), rounds*len(matrix))
	}
	first := map[string]bool{}
	for r := range rounds {
		seen := map[[2]string]bool{}
		for _, v := range all[r*len(matrix) : (r+1)*len(matrix)] {
			k := [2]string{v.net.name, v.kind.name}
			if seen[k] || v.round != r+1 {
				t.Errorf("round %d: %v again, or of another round", r+1, k)
			}
			seen[k] = true
		}
		first[all[r*len(matrix)].kind.name] = true
	}
	if len(first) != rounds {
		t.Errorf("of %d rounds the same kind begins some: %v", rounds, first)
	}
}

// The matrix must be sorted by network, as byNetwork needs it. A name must not belong to two
// things.
func TestMatrixStandsByNetwork(t *testing.T) {
	for _, entries := range [][]entry{matrix, strainMatrix, cloudMatrix, messageMatrix} {
		var nets []string
		for _, g := range byNetwork(entries) {
			nets = append(nets, g[0].net.name)
		}
		all := names(entries)
		if len(slices.Compact(slices.Sorted(slices.Values(nets)))) != len(nets) || len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
			t.Errorf("networks %v, names %v", nets, all)
		}
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		only          string
		entries, rows int // rows: sum over all entries
	}{
		{"", len(matrix), -1},
		{"real,tcp1,srdtun,wireguard-go", 2, 2},
		{"tcp1,ping,nebula", 2, 3},
		{"4x100", 4, -1},
		{"udp64", -1, -1},
	} {
		got, err := choose(matrix, c.only)
		rows := 0
		for _, e := range got {
			rows += len(e.rows)
		}
		if err != nil || c.entries >= 0 && len(got) != c.entries || c.rows >= 0 && rows != c.rows {
			t.Errorf("%q: %d entries, %d rows, %v", c.only, len(got), rows, err)
		}
	}
	for _, bad := range []string{"wiregaurd", "4x100,ping", "tcp1,"} {
		if got, err := choose(matrix, bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
