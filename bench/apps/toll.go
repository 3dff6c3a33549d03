package apps

import (
	"bytes"
	"fmt"
	"runtime"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// toll measures the processor time of a cluster's processes during the rounds of the incast. Write
// receives the MPI program's output line by line. The machine's idle share in the same rounds shows
// whether foreign processes were active too.
type toll struct {
	c    *cluster
	said bytes.Buffer // all of it
	line []byte       // the beginning of an unfinished line
	pids []int
	// The fields began and took hold the start of the running round.
	began time.Time
	took  time.Duration
	// For each message size, the map `used` holds the processor time of the cluster's processes,
	// and the map `of` holds that of the whole machine.
	used, of map[int]time.Duration
}

// Write parses the program's output and never returns an error.
func (t *toll) Write(p []byte) (int, error) {
	t.said.Write(p)
	t.line = append(t.line, p...)
	for {
		line, rest, ok := bytes.Cut(t.line, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		t.see(string(line), time.Now())
		t.line = rest
	}
}

// see parses an output line: "begin SIZE ROUND .." starts a round, and "idle SIZE ROUND .." ends
// it.
func (t *toll) see(line string, now time.Time) {
	var word string
	var size, round int
	if n, _ := fmt.Sscan(line, &word, &size, &round); n != 3 {
		return // incastValues tells
	}
	switch {
	case word == "begin":
		if t.pids == nil {
			for _, h := range t.c.hosts {
				t.pids = append(t.pids, h.Pids()...)
			}
		}
		t.began, t.took = time.Now(), processorTime(t.pids)
	case word == "idle" && round >= mpiWarm:
		t.used[size] += processorTime(t.pids) - t.took
		t.of[size] += now.Sub(t.began) * time.Duration(runtime.NumCPU())
	}
}

// processorTime returns the processor time that the processes have consumed so far. A process that
// has ended adds zero to the sum.
func processorTime(pids []int) (sum time.Duration) {
	for _, pid := range pids {
		if d, err := fabric.CPUOf(pid); err == nil {
			sum += d
		}
	}
	return sum
}
