package others

import (
	"os"
	"os/exec"
	"testing"
)

func TestParse(t *testing.T) {
	p, ok := parse([]byte("42 (a) b (c) S 7 42 42 0 -1 4194560 100 0 0 0 11 22 33 44 20 0 1 0 12345 0 0"))
	if want := (process{42, 7, 110}); !ok || p != want {
		t.Errorf("%+v, %v, want %+v", p, ok, want)
	}
	for _, bad := range []string{"", "42 (a", "42 (a) S 7", "x (a) S 7 0 0 0 0 0 0 0 0 0 1 2 3 4", "42 (a) S 7 0 0 0 0 0 0 0 0 0 1 2 x 4"} {
		if _, ok := parse([]byte(bad)); ok {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestForeign(t *testing.T) {
	all := []process{{1, 0, 1}, {2, 0, 10}, {3, 2, 100}, {50, 1, 1000}, {51, 50, 10000}, {52, 51, 100000}, {60, 1, 1000000}}
	if got := foreign(all, 51); got != 1001001 {
		t.Errorf("%d: want init, the parent and the stranger", got)
	}
	// A process number may be reused between two reads, so that two processes appear as each
	// other's parent.
	if got := foreign([]process{{8, 9, 1}, {9, 8, 1}}, 5); got != 2 {
		t.Errorf("a circle counts %d", got)
	}
}

// A process that this one starts and waits for does not count as foreign.
func TestChildrenAreOurs(t *testing.T) {
	before, err := processes("/proc")
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done").Run(); err != nil {
		t.Fatal(err)
	}
	after, err := processes("/proc")
	if err != nil {
		t.Fatal(err)
	}
	own := func(all []process) (ticks int64) {
		for _, p := range all {
			ticks += p.ticks
		}
		return ticks - foreign(all, os.Getpid())
	}
	if own(after) <= own(before) {
		t.Error("the work of a child was not counted as ours")
	}
}
