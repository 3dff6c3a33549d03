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

// toll is the processor time of the processes on a cluster's hosts while rounds are under way.
// Write gets the incast's output as it comes. The idle share beside it shows whether other
// processes worked as well.
type toll struct {
	c    *cluster
	said bytes.Buffer // all of it
	line []byte       // the beginning of an unfinished line
	pids []int
	// State of the running round.
	began time.Time
	took  time.Duration
	// By message size: processor time of our processes, and of all processors meanwhile.
	used, of map[int]time.Duration
}

// Write never fails.
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

// see takes a line: "begin SIZE ROUND ..", then "idle SIZE ROUND .." when it has ended.
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

// processorTime is the time that processes have used so far. A process that has ended counts
// nothing.
func processorTime(pids []int) (sum time.Duration) {
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil {
			sum += parseStat(string(text))
		}
	}
	return sum
}

// userTick is the unit of times in proc(5), the same on all of Linux's architectures that
// Go has.
const userTick = 10 * time.Millisecond

// parseStat returns utime plus stime of proc_pid_stat(5). The name is in parentheses and may
// hold anything. Counted from 0 after the name, these are the fields 11 and 12.
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
