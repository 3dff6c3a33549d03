package tunnel

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is the memory and processor time of a daemon.
type Usage struct {
	RSS  int           // resident bytes now
	Peak int           // the most there ever were
	CPU  time.Duration // of all its threads, since it was started
}

// tick is the unit of CPU times in proc(5), because USER_HZ is 100 on all relevant Linux
// architectures.
const tick = 10 * time.Millisecond

// Usage reads the memory and processor time of the running daemon.
func (n *Node) Usage() (u Usage, err error) {
	dir := fmt.Sprintf("/proc/%d/", n.process.Pid())
	if u.RSS, u.Peak, err = resident(dir + "status"); err != nil {
		return u, err
	}
	b, err := os.ReadFile(dir + "stat")
	if err != nil {
		return u, err
	}
	// The process name is in parentheses, and may contain any character. The fields 12 and 13
	// after the name are the times in user mode and in the kernel.
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(fields) < 13 {
		return u, fmt.Errorf("%sstat has %d fields", dir, len(fields))
	}
	for _, s := range fields[11:13] {
		ticks, err := strconv.Atoi(s)
		if err != nil {
			return u, err
		}
		u.CPU += time.Duration(ticks) * tick
	}
	return u, nil
}

// resident reads VmRSS and VmHWM in KiB.
func resident(file string) (now, peak int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		key, value, _ := strings.Cut(s.Text(), ":")
		kib, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		switch key {
		case "VmRSS":
			now = kib << 10
		case "VmHWM":
			peak = kib << 10
		}
	}
	if now == 0 || peak == 0 {
		return 0, 0, fmt.Errorf("%s names no resident memory", file)
	}
	return now, peak, nil
}
