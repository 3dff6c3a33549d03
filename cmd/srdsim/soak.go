package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/sim"
)

// progressEvery is how often a soak says where it is.
const progressEvery = 5 * time.Second

// soakCommand plays a range of seeds.
func soakCommand() *cobra.Command {
	var seeds string
	c := &cobra.Command{
		Use:   "soak --seeds A..B",
		Short: "Play all seeds from A to B and name those that fail",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			from, to, err := parseRange(seeds)
			if err != nil {
				return err
			}
			return soak(c.OutOrStdout(), c.ErrOrStderr(), from, to)
		},
	}
	c.Flags().StringVar(&seeds, "seeds", "1..1000", "first and last seed")
	return c
}

// parseRange reads "A..B", or "A" alone.
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

// soak plays the seeds; failures go to out, progress to progress.
func soak(out, progress io.Writer, from, to uint64) error {
	begin, said, failed := time.Now(), time.Now(), 0
	for n := from; ; n++ {
		if r := sim.Swarm(n, nil); r.Err != nil {
			failed++
			fmt.Fprintln(out, r)
		}
		if time.Since(said) > progressEvery || n == to {
			said = time.Now()
			fmt.Fprintf(progress, "%d of %d seeds, %d failed, %.1f seeds/s\n", n-from+1, to-from+1, failed, float64(n-from+1)/time.Since(begin).Seconds())
		}
		if n == to {
			break
		}
	}
	if failed > 0 {
		return errFailed
	}
	return nil
}
