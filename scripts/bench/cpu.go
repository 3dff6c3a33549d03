package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the first line of /proc/stat, in seconds since the start of the
// machine, over all its processors.
type cpuTime struct {
	// busy is user, nice, system, irq and softirq time: both ends, what measures
	// them, and the kernel's work for packets, which belongs to no process.
	busy  float64
	nice  float64
	steal float64 // what the hypervisor gave to others
}

// userHz is the unit of /proc/stat, the same on all architectures that Go has.
const userHz = 100

func readCPU() (cpuTime, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return cpuTime{}, err
	}
	return parseCPU(string(text))
}

// parseCPU reads the line "cpu user nice system idle iowait irq softirq steal ..".
func parseCPU(text string) (c cpuTime, err error) {
	line, _, _ := strings.Cut(text, "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return c, fmt.Errorf("/proc/stat begins with %q", line)
	}
	var v [8]float64
	for i := range v {
		if v[i], err = strconv.ParseFloat(f[1+i], 64); err != nil {
			return c, err
		}
	}
	user, nice, system, irq, softirq, steal := v[0], v[1], v[2], v[5], v[6], v[7]
	return cpuTime{(user + nice + system + irq + softirq) / userHz, nice / userHz, steal / userHz}, nil
}

func (c cpuTime) since(a cpuTime) cpuTime {
	return cpuTime{c.busy - a.busy, c.nice - a.nice, c.steal - a.steal}
}

// When a machine is quiet, and from where on a measurement was disturbed, in
// processors. The least step of /proc/stat is a hundredth of a second.
const (
	quietSpan = 500 * time.Millisecond
	quietMost = 0.12 // an idle tunnel and a timer here and there
	stealMost = 0.05
	niceMost  = 0.05 // nothing here is niced, unless all of it is
)

// settle waits until the machine is idle, at most limit, and returns why it is
// not, or "".
func settle(limit time.Duration) (string, error) {
	for end := time.Now().Add(limit); ; {
		before, err := readCPU()
		if err != nil {
			return "", err
		}
		time.Sleep(quietSpan)
		after, err := readCPU()
		if err != nil {
			return "", err
		}
		load := after.since(before).busy / quietSpan.Seconds()
		if load < quietMost {
			return "", nil
		}
		if time.Now().After(end) {
			return fmt.Sprintf("%.1f processors were busy before it began", load), nil
		}
	}
}

// disturbance says what else happened in a time d during which c went by, or "".
func disturbance(c cpuTime, d time.Duration, niced bool) string {
	switch {
	case c.steal > stealMost*d.Seconds():
		return fmt.Sprintf("the hypervisor took %.2f processors", c.steal/d.Seconds())
	case !niced && c.nice > niceMost*d.Seconds():
		return fmt.Sprintf("niced processes of others took %.2f processors", c.nice/d.Seconds())
	}
	return ""
}

// niced is whether this process runs at a lower priority than usual.
func niced() bool {
	// The system call, unlike the C library, returns 20 less the nice value.
	prio, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	return err == nil && prio < 20
}
