package steer

import (
	"testing"

	"pgregory.net/rapid"
)

func TestSetAgainstItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s, other Set
		twin, otherTwin := map[int]bool{}, map[int]bool{}
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			p := rapid.IntRange(0, MaxPaths-1).Draw(t, "path")
			switch rapid.IntRange(0, 3).Draw(t, "verb") {
			case 0, 1:
				s.Add(p)
				twin[p] = true
			case 2:
				s.Remove(p)
				delete(twin, p)
			case 3:
				other.Add(p)
				otherTwin[p] = true
			}
		}
		left := s.Without(other)
		for p := range MaxPaths {
			if s.Has(p) != twin[p] || left.Has(p) != (twin[p] && !otherTwin[p]) {
				t.Fatalf("path %d: %v, without the others %v", p, s.Has(p), left.Has(p))
			}
		}
		members := []int{}
		for p := s.Next(0); p >= 0; p = s.Next(p + 1) {
			members = append(members, p)
		}
		if len(members) != len(twin) || s.Len() != len(twin) {
			t.Fatalf("members %v of %v", members, twin)
		}
		for i, p := range members {
			if !twin[p] || s.At(i) != p {
				t.Fatalf("members %v: %d is number %d", members, s.At(i), i)
			}
		}
		if s.Empty() != (len(twin) == 0) {
			t.Fatalf("empty %v with %d members", s.Empty(), len(twin))
		}
	})
}
