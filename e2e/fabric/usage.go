package fabric

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Usage is the memory and processor time of a process.
type Usage struct {
	RSS  int           // current resident memory in bytes
	Peak int           // maximum resident memory in bytes
	CPU  time.Duration // processor time of all threads since the start
}

// UsageOf reads the memory and processor time of a running process.
func UsageOf(pid int) (u Usage, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, err
	}
	if u.RSS, u.Peak, err = parseStatus(string(text)); err != nil {
		return u, fmt.Errorf("process %d: %w", pid, err)
	}
	u.CPU, err = CPUOf(pid)
	return u, err
}

// parseStatus returns VmRSS and VmHWM of /proc/PID/status, in bytes.
func parseStatus(text string) (now, peak int, err error) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		kib, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		switch key {
		case "VmRSS":
			now = kib << 10
		case "VmHWM":
			peak = kib << 10
		}
	}
	if now == 0 || peak == 0 {
		return 0, 0, errors.New("no resident memory")
	}
	return now, peak, nil
}

// CPUOf reads the processor time of a process in user mode and in the kernel, in steps of a tick.
// RanOf is more precise, but does not count threads that have ended.
func CPUOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(string(text))
}

// tick is the unit of processor times in proc(5), because USER_HZ is 100 on all relevant Linux
// architectures.
const tick = 10 * time.Millisecond

// parseStat returns the sum of utime and stime in /proc/PID/stat. The process name is in
// parentheses, and may contain any character. The fields 12 and 13 after the name are the times.
func parseStat(text string) (sum time.Duration, err error) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("%q has %d fields", text, len(fields))
	}
	for _, s := range fields[11:13] {
		ticks, err := strconv.Atoi(s)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(ticks) * tick
	}
	return sum, nil
}

// RanOf returns the processor time of all threads of a process so far.
func RanOf(pid int) (sum time.Duration, err error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("process %d has no threads", pid)
	}
	for _, f := range files {
		text, e := os.ReadFile(f)
		if errors.Is(e, fs.ErrNotExist) {
			continue // the thread has ended
		}
		ns, _, _ := strings.Cut(string(text), " ")
		n, e2 := strconv.ParseInt(ns, 10, 64)
		sum, err = sum+time.Duration(n), errors.Join(err, e, e2)
	}
	return sum, err
}

// Counter reads a counter of the namespace's kernel from /proc/net/snmp or /proc/net/netstat. The
// name of the protocol ends with a colon.
func (n *Namespace) Counter(file, protocol, name string) (int, error) {
	text, err := n.Run("cat", "/proc/net/"+file)
	if err != nil {
		return 0, err
	}
	return parseCounter(text, protocol, name)
}

// parseCounter reads a file in which each protocol has a line with names and a line with values.
func parseCounter(text, protocol, name string) (int, error) {
	var names []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != protocol {
			continue
		}
		if names == nil {
			names = f
			continue
		}
		if i := slices.Index(names, name); i > 0 && i < len(f) {
			return strconv.Atoi(f[i])
		}
	}
	return 0, fmt.Errorf("no counter %s of %s", name, protocol)
}
