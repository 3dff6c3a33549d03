package steer

import "testing"

func TestActiveBackup(t *testing.T) {
	a := NewActiveBackup(1)
	for p := range 6 {
		a.Place(p, p/2) // classes 0 0 1 1 2 2
	}
	for _, c := range []struct {
		usable []int
		repair bool
		want   int
	}{
		{[]int{0, 1, 4}, false, 0},          // no path of the primary class: any path
		{[]int{0, 1, 4}, false, 0},          // traffic stays on this path
		{[]int{1, 4}, false, 1},             // until the path fails
		{[]int{0, 1, 4}, false, 1},          // traffic does not return to path 0
		{[]int{0, 1, 3, 4}, false, 3},       // but it returns to the primary class
		{[]int{0, 1, 2, 3, 4}, false, 3},    // within the primary class it stays on its path
		{[]int{0, 1}, true, 0},              // a repair on another path does not move traffic
		{[]int{0, 1, 2, 3, 4, 5}, false, 3}, //
		{[]int{0, 1, 2, 4}, false, 2},
	} {
		var s Set
		for _, p := range c.usable {
			s.Add(p)
		}
		if p := a.Pick(1, &s, Context{Repair: c.repair}); p != c.want {
			t.Fatalf("of %v path %d, want %d", c.usable, p, c.want)
		}
	}
	if a.Weight(2) != 1 || a.Weight(3) != 0 {
		t.Error("the path in use is not seen")
	}
}

// The second copy is sent from another local address if there is one.
func TestDuplicateGoesElsewhere(t *testing.T) {
	d := NewDuplicate(1)
	for p := range 8 {
		d.Place(p, p/6) // paths 0 to 5 have class 0; 6 and 7 have class 1
	}
	for range 200 {
		first := d.Pick(1, setOf(8), Context{})
		second, ok := d.Second(1, setOf(8), Context{}, first)
		if !ok || (first < 6) == (second < 6) {
			t.Fatalf("paths %d and %d", first, second)
		}
		second, ok = d.Second(1, setOf(6), Context{}, 3)
		if !ok || second == 3 {
			t.Fatalf("paths 3 and %d, %v, where there is one address", second, ok)
		}
	}
	if _, ok := d.Second(1, setOf(1), Context{}, 0); ok {
		t.Error("a second path where there is one")
	}
}
