// Package others tells how much of the processors' time went to processes that a measurement
// has not started. Other processes make figures worse, and a shared machine has some most of
// the day.
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

// userHz is the unit of times in /proc, the same on all architectures that Go has.
const userHz = 100

// kthreadd is the parent of all kernel threads. They work for packets, and packets belong to no
// process.
const kthreadd = 2

// process is the fields used of /proc/PID/stat, proc_pid_stat(5).
type process struct {
	pid, parent int
	ticks       int64 // its own, and of the children that it has waited for
}

// Reading is a moment at which processor time was read.
type Reading struct {
	at    time.Time
	ticks int64
}

// Now reads the time of all processes, without this one and its descendants. The time of an
// ended child goes to its parent. So the sums of two readings stay comparable although
// processes came and went.
func Now() (Reading, error) {
	all, err := processes("/proc")
	return Reading{time.Now(), foreign(all, os.Getpid())}, err
}

// Since returns how many processors others kept busy between two readings.
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
			continue // it has ended
		}
		if p, ok := parse(text); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// parse reads a line of /proc/PID/stat. The name, in brackets, may hold brackets and blanks.
func parse(text []byte) (p process, ok bool) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return p, false
	}
	f := bytes.Fields(text[end+1:])
	// After the name: state, parent, and the four times from the 12th on.
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

// foreign sums up the time of the processes that do not descend from own.
func foreign(all []process, own int) (ticks int64) {
	parent := map[int]int{}
	for _, p := range all {
		parent[p.pid] = p.parent
	}
	descends := func(pid int) bool {
		for range len(all) { // a number may be given again while we read: no circles
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
