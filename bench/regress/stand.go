package regress

import (
	"errors"
	"math"
	"slices"

	"github.com/srdtun/srdtun/e2e/others"
	"github.com/srdtun/srdtun/lab/stat"
)

const (
	// standingCopies is the number of networks of each version that exist at the same time. More
	// than one is needed, because the values of two networks of one version differ by up to a
	// third. The scheduler keeps each process on its processor, and some placements are better.
	standingCopies = 2
	// standingPairs is the number of judged pairs. A pair of standing networks has many rounds, so
	// fewer pairs are needed than in other scenes.
	standingPairs = 3
	// If the share of undisturbed rounds is below undisturbedLeast, the pair counts as disturbed.
	undisturbedLeast = 0.5
)

// standing is a network of one version that stays up while other networks are measured.
type standing struct {
	version int // 0: base, 1: head
	run     *run
	turn    func() error
	got     []map[string]float64 // values of each round
}

// alternate sets up all networks, and measures them in short alternating intervals. Every second
// round measures the networks in reverse order. For each network, the median over the undisturbed
// rounds is computed. A version's value is the mean of these medians over the version's networks.
func (s scene) alternate(versions [2]version, swapped bool) (got [2]map[string]float64, foreign float64, err error) {
	var all []*standing
	defer func() {
		for _, n := range all {
			err = errors.Join(err, n.run.end())
		}
	}()
	for range standingCopies {
		for _, i := range order(swapped) {
			n := &standing{version: i, run: newRun(versions[i])}
			all = append(all, n)
			if n.turn, err = s.stand(n.run); err != nil {
				return got, 0, s.failed(versions[i], err)
			}
		}
	}
	var busy []float64
	for range s.rounds {
		before, err := others.Now()
		if err != nil {
			return got, 0, err
		}
		for _, n := range all {
			n.run.got = map[string]float64{}
			if err := n.turn(); err != nil {
				return got, 0, s.failed(versions[n.version], err)
			}
			n.got = append(n.got, n.run.got)
		}
		slices.Reverse(all)
		after, err := others.Now()
		if err != nil {
			return got, 0, err
		}
		busy = append(busy, after.Since(before))
	}
	good, foreign := quietRounds(busy)
	for i := range got {
		got[i] = map[string]float64{}
		for _, f := range s.figures {
			got[i][f.name] = valueOf(all, i, f, good)
		}
	}
	return got, foreign, nil
}

// quietRounds returns the undisturbed rounds, and the largest number of processors that foreign
// processes used in them. If too few rounds are undisturbed, quietRounds returns all rounds.
func quietRounds(busy []float64) (good []int, foreign float64) {
	for i, b := range busy {
		if b <= others.Most {
			good, foreign = append(good, i), max(foreign, b)
		}
	}
	if float64(len(good)) >= undisturbedLeast*float64(len(busy)) {
		return good, foreign
	}
	good = good[:0]
	for i, b := range busy {
		good, foreign = append(good, i), max(foreign, b)
	}
	return good, foreign
}

func valueOf(all []*standing, version int, f figure, rounds []int) float64 {
	sum, n := 0., 0.
	for _, s := range all {
		if s.version != version {
			continue
		}
		var v []float64
		for _, k := range rounds {
			v = append(v, s.got[k][f.name])
		}
		sum, n = sum+stat.Median(v), n+1
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / n
}
