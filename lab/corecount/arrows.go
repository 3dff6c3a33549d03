package main

import (
	"cmp"
	"go/types"
	"maps"
	"math/rand/v2"
	"slices"
)

// arrow means that one file uses a definition of another.
type arrow struct{ from, to string }

// arrowsOf returns the uses among the files of a package, with the used names. Types,
// functions, methods, constants and variables count as definitions; a field is part of its
// type.
func arrowsOf(t *tree, p *pkg) map[arrow][]string {
	v := map[arrow][]string{}
	for id, object := range p.info.Uses {
		fn, method := object.(*types.Func)
		if method {
			object = fn.Origin()
		}
		if object.Pkg() != p.types || !method && object.Parent() != p.types.Scope() {
			continue
		}
		a := arrow{t.file(id.Pos()), t.file(object.Pos())}
		if a.from != a.to && !slices.Contains(v[a], object.Name()) {
			v[a] = append(v[a], object.Name())
			slices.Sort(v[a])
		}
	}
	return v
}

// starts is the number of initial orders for layersOf; more do not improve the result for
// this tree.
const starts = 400

// layersOf sorts files so that few arrows point upwards: a file comes before the files that
// it uses. Finding the minimum is NP-hard (minimum feedback arc set). So it starts from
// many orders, and moves single files as long as this reverses arrows.
func layersOf(arrows map[arrow][]string) (best []string) {
	var files []string
	for a := range arrows {
		files = append(files, a.from, a.to)
	}
	slices.Sort(files)
	files = slices.Compact(files)
	rng := rand.New(rand.NewPCG(1, 1))
	for range starts {
		order := slices.Clone(files)
		rng.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
		for moved := true; moved; {
			moved = false
			for i := range order {
				if to := betterPlace(order, i, arrows); to != i {
					f := order[i]
					order, moved = slices.Insert(slices.Delete(order, i, i+1), to, f), true
				}
			}
		}
		if best == nil || len(upOf(arrows, order)) < len(upOf(arrows, best)) {
			best = order
		}
	}
	return best
}

// betterPlace returns a place for file i at which fewer of its arrows run up.
func betterPlace(files []string, i int, arrows map[arrow][]string) int {
	runs := func(from, to string) int { return min(1, len(arrows[arrow{from, to}])) }
	best, least := i, 0
	for _, step := range []int{-1, 1} {
		for j, change := i+step, 0; j >= 0 && j < len(files); j += step {
			change += step * (runs(files[i], files[j]) - runs(files[j], files[i])) // i passes j
			if change < least {
				best, least = j, change
			}
		}
	}
	return best
}

// upOf returns the arrows that point upwards in this order of files.
func upOf(arrows map[arrow][]string, files []string) (v []arrow) {
	for _, a := range slices.SortedFunc(maps.Keys(arrows), func(a, b arrow) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) }) {
		if slices.Index(files, a.from) > slices.Index(files, a.to) {
			v = append(v, a)
		}
	}
	return v
}
