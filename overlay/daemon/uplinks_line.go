package daemon

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/srdtun/srdtun/srd"
)

// sysfs is the kernel's directory of interfaces.
var sysfs = os.DirFS("/sys/class/net")

// lineOf returns the summed rate of the interfaces of tuples, in bytes per second. It returns
// 0 if one of them has no known rate.
func (ul *uplinks) lineOf(tuples []srd.Tuple) (rate float64) {
	seen := map[string]bool{}
	locals := map[srd.Uplink]bool{}
	for _, t := range tuples {
		if locals[t.Local] {
			continue
		}
		locals[t.Local] = true
		name := ul.interfaces.name(t.Local)
		if seen[name] {
			continue
		}
		seen[name] = true
		r := speed(sysfs, name)
		if r == 0 {
			return 0
		}
		rate += r
	}
	return rate
}

// speed returns the rate of an interface in bytes per second, or 0. Only the driver of a
// hardware device knows it: veth and TUN report a rate, but have none. See Linux,
// Documentation/ABI/testing/sysfs-class-net (speed: in Mbit/s, -1 unknown).
func speed(sys fs.FS, name string) float64 {
	if name == "" {
		return 0
	}
	if _, err := fs.Stat(sys, path.Join(name, "device")); err != nil {
		return 0
	}
	text, err := fs.ReadFile(sys, path.Join(name, "speed"))
	if err != nil {
		return 0
	}
	mbit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || mbit <= 0 {
		return 0
	}
	return float64(mbit) * bytesPerMbit
}
