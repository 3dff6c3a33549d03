package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/sim/swarm"
)

const (
	// progressEvery is the interval of progress reports if the output is not a terminal.
	progressEvery = 10 * time.Second
	// soakGC is the growth of the heap between garbage collections, in per cent. It is large to
	// save time, because most memory of a seed soon becomes garbage. With 400 per cent a soak runs
	// a fifth faster than with the default of 100.
	soakGC = 400
	// stackBytes is the number of bytes to print of a panic's stack.
	stackBytes = 1500
)

// soakCommand returns the subcommand that runs a range of seeds.
func soakCommand() *cobra.Command {
	s := &soak{}
	var seeds string
	c := &cobra.Command{
		Use:   "soak --seeds A..B",
		Short: "Play all seeds from A to B, name those that fail, and judge the speed of all together",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if s.from, s.to, err = parseRange(seeds); err != nil {
				return err
			}
			s.out, s.progress, s.bar = c.OutOrStdout(), c.ErrOrStderr(), newBar(c.ErrOrStderr())
			return s.run()
		},
	}
	c.Flags().StringVar(&seeds, "seeds", "1..1000", "first and last seed")
	c.Flags().BoolVar(&s.first, "first", false, "stop at the first failure")
	c.Flags().StringVar(&s.record, "record", "", "write the speed of each seed into a `file`, instead of judging it")
	c.Flags().IntVar(&s.jobs, "jobs", runtime.NumCPU(), "seeds played at once")
	return c
}

// parseRange parses "A..B", or "A" alone.
func parseRange(s string) (from, to uint64, err error) {
	a, b, ok := strings.Cut(s, "..")
	if !ok {
		b = a
	}
	from, err1 := strconv.ParseUint(a, 10, 64)
	to, err2 := strconv.ParseUint(b, 10, 64)
	if err1 != nil || err2 != nil || from > to {
		return 0, 0, fmt.Errorf("seeds %q: want A..B with A not above B", s)
	}
	return from, to, nil
}

// soak runs the seeds `from` to `to`. Failures are written to `out`. Progress is written to
// `progress`, or to the bar on a terminal.
type soak struct {
	from, to      uint64
	first         bool
	jobs          int
	record        string
	out, progress io.Writer
	bar           *bar

	next         atomic.Uint64 // next seed to run
	mu           sync.Mutex    // guards the fields below, and out
	done, failed int
	speeds       swarm.Speeds
	begin, said  time.Time
}

func (s *soak) run() error {
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(soakGC))
	}
	s.begin = time.Now()
	s.said = s.begin
	var all sync.WaitGroup
	for range max(1, s.jobs) {
		all.Go(s.work)
	}
	all.Wait()
	s.bar.clear()
	fmt.Fprintln(s.progress, s.state())
	if err := s.judge(); err != nil {
		fmt.Fprintln(s.out, err)
		return errFailed
	}
	if s.failed > 0 {
		return errFailed
	}
	return nil
}

// judge judges the transfer speeds of all seeds together, or writes them to a file.
func (s *soak) judge() error {
	if s.record == "" {
		return s.speeds.Judge(s.out)
	}
	f, err := os.Create(s.record)
	if err != nil {
		return err
	}
	return errors.Join(s.speeds.Write(f), f.Close())
}

// work runs seeds until no seed is left.
func (s *soak) work() {
	for {
		n := s.from + s.next.Add(1) - 1
		if n > s.to || n < s.from || s.ended() {
			return
		}
		s.note(play(n))
	}
}

func (s *soak) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first && s.failed > 0
}

// play runs one seed. A seed that panics counts as failed.
func play(n uint64) (r swarm.Report) {
	defer func() {
		if p := recover(); p != nil {
			r.Seed, r.Err = n, fmt.Errorf("panic: %v\n%.*s", p, stackBytes, debug.Stack())
		}
	}()
	return swarm.Play(n, nil)
}

// note counts the outcome of a seed and reports progress.
func (s *soak) note(r swarm.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.speeds.Note(&r)
	if s.done++; r.Err != nil {
		s.failed++
		s.bar.clear()
		fmt.Fprintln(s.out, r)
	}
	s.bar.show(s.state(), float64(s.done)/float64(s.to-s.from+1))
	if s.bar.w == nil && time.Since(s.said) > progressEvery {
		s.said = time.Now()
		fmt.Fprintln(s.progress, s.state())
	}
}

func (s *soak) state() string {
	return fmt.Sprintf("%d of %d seeds, %d failed, %.1f seeds/s", s.done, s.to-s.from+1, s.failed, float64(s.done)/time.Since(s.begin).Seconds())
}
