// Package others measures the processor time of foreign processes during a measurement. Foreign
// processes distort results, and on a shared machine some run most of the day.
package others

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Most is the number of processors that foreign processes may use during a valid measurement.
const Most = 0.2

// userHz is the number of clock ticks per second in which /proc counts times. It is the same on all
// architectures that Go supports.
const userHz = 100

// kthreadd is the process ID of the parent of all kernel threads. Kernel threads are not counted as
// foreign, because they also process packets of the measurement.
const kthreadd = 2

// process holds the fields of /proc/PID/stat that this package uses, see proc_pid_stat(5).
type process struct {
	pid, parent int
	ticks       int64 // of the process, and of ended children that it has waited for
}

// Reading holds the total processor time of the foreign processes at one moment.
type Reading struct {
	at    time.Time
	ticks int64
}

// Now reads the processor time of all processes, except this one and its descendants. When a child
// ends, its time is added to its parent's. So the difference of two readings is correct even if
// processes started or ended in between.
func Now() (Reading, error) {
	all, err := processes("/proc")
	return Reading{time.Now(), foreign(all, os.Getpid())}, err
}

// Since returns how many processors foreign processes kept busy between two readings.
func (r Reading) Since(earlier Reading) float64 {
	span := r.at.Sub(earlier.at).Seconds()
	if span <= 0 {
		return 0
	}
	return max(0, float64(r.ticks-earlier.ticks)/userHz/span)
}

func processes(proc string) (all []process, err error) {
	names, err := filepath.Glob(filepath.Join(proc, "[0-9]*", "stat"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the process has ended
		}
		if p, ok := parse(text); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// parse reads a line of /proc/PID/stat. The process name is in parentheses, and may contain any
// character.
func parse(text []byte) (p process, ok bool) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return p, false
	}
	f := bytes.Fields(text[end+1:])
	// The fields after the name are the state, the parent, and from index 11 on the four processor
	// times.
	const parent, times = 1, 11
	if len(f) < times+4 {
		return p, false
	}
	var errs [6]error
	p.pid, errs[0] = strconv.Atoi(string(bytes.TrimSpace(text[:open])))
	p.parent, errs[1] = strconv.Atoi(string(f[parent]))
	for i := range 4 {
		var n int64
		n, errs[2+i] = strconv.ParseInt(string(f[times+i]), 10, 64)
		p.ticks += n
	}
	return p, errors.Join(errs[:]...) == nil
}

// foreign adds up the time of the processes that do not descend from the process `own`.
func foreign(all []process, own int) (ticks int64) {
	parent := map[int]int{}
	for _, p := range all {
		parent[p.pid] = p.parent
	}
	descends := func(pid int) bool {
		for range len(all) { // bounded, because a reused process number can make a circle
			if pid == own || pid == kthreadd {
				return true
			}
			if pid = parent[pid]; pid == 0 {
				return false
			}
		}
		return false
	}
	for _, p := range all {
		if !descends(p.pid) {
			ticks += p.ticks
		}
	}
	return ticks
}
