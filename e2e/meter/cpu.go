package meter

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// CPUTime is the time of all processors since boot in seconds, from the first line of /proc/stat
// (proc_stat(5)).
type CPUTime struct {
	// Busy is the sum of user, nice, system, irq and softirq time. Busy includes the measured and
	// the measuring programs. Busy also includes the kernel's work for packets, which belongs to
	// no process.
	Busy  float64
	Nice  float64
	Steal float64 // time that the hypervisor gave to others
}

// userHz is the number of /proc/stat's time units in a second. The unit is the same on all
// architectures that Go supports.
const userHz = 100

// ReadCPU reads the machine's processor times.
func ReadCPU() (CPUTime, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return CPUTime{}, err
	}
	return parseCPU(string(text))
}

// parseCPU parses the line "cpu user nice system idle iowait irq softirq steal ..".
func parseCPU(text string) (c CPUTime, err error) {
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
	return CPUTime{(user + nice + system + irq + softirq) / userHz, nice / userHz, steal / userHz}, nil
}

// Since returns the processor times from an earlier reading to c.
func (c CPUTime) Since(earlier CPUTime) CPUTime {
	return CPUTime{c.Busy - earlier.Busy, c.Nice - earlier.Nice, c.Steal - earlier.Steal}
}
