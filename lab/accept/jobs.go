package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// options holds the command line's options.
type options struct {
	out         io.Writer
	only        string
	seeds, jobs int
	json        string
	plans       string
	host        string
}

// line is the result of one metric over all seeds.
type line struct {
	Scene  string    `json:"scene"`
	Figure string    `json:"figure"`
	Value  float64   `json:"value"` // the median over the seeds, or the worst value
	Unit   string    `json:"unit"`
	Goal   string    `json:"goal"`
	OK     bool      `json:"ok"`
	Seeds  []float64 `json:"seeds"`
}

// run plays all selected scenes, prints them and returns how many metrics miss their goals.
func run(o *options) (missed int, err error) {
	all := wanted(scenes(), o.only)
	if len(all) == 0 {
		return 0, fmt.Errorf("no scene or figure is called %q", o.only)
	}
	begin := time.Now()
	rounds, err := play(all, o)
	if err != nil {
		return 0, err
	}
	lines := outcome(all, rounds, o)
	if o.json != "" {
		if err := writeJSON(o.json, lines); err != nil {
			return 0, err
		}
	}
	for _, l := range lines {
		if !l.OK {
			missed++
		}
	}
	print(o.out, lines)
	fmt.Fprintf(o.out, "%d of %d figures miss their goals; %d seeds\n", missed, len(lines), o.seeds)
	fmt.Fprintf(os.Stderr, "%.0f s\n", time.Since(begin).Seconds())
	return missed, nil
}

// wanted returns the scenes that the flag -only selects, by the name of the scene or of one of its
// metrics.
func wanted(all []*scene, only string) (v []*scene) {
	for _, s := range all {
		names := []string{s.name}
		for _, f := range s.figures {
			names = append(names, f.name)
		}
		for _, text := range strings.Split(only, ",") {
			if slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, text) }) {
				v = append(v, s)
				break
			}
		}
	}
	return v
}

// play simulates each scene with each seed. At most o.jobs simulations run in parallel.
func play(all []*scene, o *options) ([]*round, error) {
	var rounds []*round
	for _, s := range all {
		for seed := range o.seeds {
			rounds = append(rounds, &round{scene: s, seed: uint64(seed + 1), plans: o.plans, host: cmp.Or(s.host, o.host), values: map[string]float64{}})
		}
	}
	order := slices.Clone(rounds)
	slices.SortStableFunc(order, func(a, b *round) int { return int(1e3 * (b.scene.cost - a.scene.cost)) })
	todo := make(chan *round, len(order))
	for _, r := range order {
		todo <- r
	}
	close(todo)
	var (
		mu  sync.Mutex
		bad []error
		wg  sync.WaitGroup
	)
	for range o.jobs {
		wg.Go(func() {
			for r := range todo {
				if err := r.scene.measure(r); err != nil {
					mu.Lock()
					bad = append(bad, fmt.Errorf("%s, seed %d: %w", r.scene.name, r.seed, err))
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return rounds, errors.Join(bad...)
}

// outcome computes the value of each metric from the values of all seeds.
func outcome(all []*scene, rounds []*round, o *options) (lines []line) {
	for _, s := range all {
		for _, f := range s.figures {
			l := line{Scene: s.name, Figure: f.name, Unit: f.unit, Goal: f.goal.String()}
			for _, r := range rounds {
				if r.scene == s {
					l.Seeds = append(l.Seeds, r.values[f.name])
				}
			}
			l.Value = f.of(l.Seeds)
			l.OK = f.goal.met(l.Value)
			lines = append(lines, l)
		}
	}
	return lines
}

func print(w io.Writer, lines []line) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "scene\tfigure\tvalue\tunit\tgoal\tverdict\tseeds")
	for _, l := range lines {
		verdict := "ok"
		switch {
		case !l.OK:
			verdict = "MISSED"
		case l.Goal == "-":
			verdict = "-"
		}
		seeds := make([]string, len(l.Seeds))
		for i, x := range l.Seeds {
			seeds[i] = number(x)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.Scene, l.Figure, number(l.Value), l.Unit, l.Goal, verdict, strings.Join(seeds, " "))
	}
	t.Flush()
}

// number formats a value with three significant digits, or a whole number completely.
func number(x float64) string {
	if x == float64(int64(x)) || x >= 1000 || x <= -1000 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

func writeJSON(file string, lines []line) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	e := json.NewEncoder(f)
	for _, l := range lines {
		if err := e.Encode(l); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}
