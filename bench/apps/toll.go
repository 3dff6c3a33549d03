package apps

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
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
	// The maps used and of hold, for each message size, the processor time of the cluster's
	// processes and of the whole machine.
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
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil {
			sum += parseStat(string(text))
		}
	}
	return sum
}

// userTick is the unit of times in /proc/PID/stat. The unit userTick is the same on all Linux
// architectures that Go supports.
const userTick = 10 * time.Millisecond

// parseStat returns the sum of utime and stime in /proc/PID/stat, see proc_pid_stat(5). In
// /proc/PID/stat the process name is in parentheses and may contain any character. If the first
// field after the name has index 0, then utime and stime are fields 11 and 12.
func parseStat(text string) (sum time.Duration) {
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(f) < 13 {
		return 0
	}
	for _, s := range f[11:13] {
		ticks, err := strconv.Atoi(s)
		if err != nil {
			return 0
		}
		sum += time.Duration(ticks) * userTick
	}
	return sum
}
