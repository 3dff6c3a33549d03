package apps

import (
	"bytes"
	"fmt"
	"runtime"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// toll measures the processor time of a cluster's processes during the rounds of the incast. Its
// method Write receives the output of the MPI program, which announces the rounds. The idle share
// of the machine in the same rounds shows whether foreign processes were active too.
type toll struct {
	c    *cluster
	said bytes.Buffer // the whole output
	line []byte       // the beginning of an unfinished line
	pids []int
	// The fields began and took have the time and the processor time at the start of the current
	// round.
	began time.Time
	took  time.Duration
	// For each message size, the map `used` has the processor time that the cluster's processes
	// used. The map `of` has the processor time that the machine had in the same rounds.
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
		return // incastValues reports the fault
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
// has ended does not count.
func processorTime(pids []int) (sum time.Duration) {
	for _, pid := range pids {
		if d, err := fabric.CPUOf(pid); err == nil {
			sum += d
		}
	}
	return sum
}
