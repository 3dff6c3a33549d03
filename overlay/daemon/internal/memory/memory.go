// Package memory bounds what all peers of a daemon use together.
package memory

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/overlay/budget"
)

// Shared is what all peers may use together.
type Shared struct {
	Budget    *budget.Budget
	collector collector
}

// New shares a part of the runtime's limit out.
func New() *Shared { return &Shared{Budget: budget.New(budget.Of(debug.SetMemoryLimit(-1)))} }

// Collect collects garbage if peers have given back much memory. One goroutine calls it.
func (s *Shared) Collect(now time.Time) { s.collector.collect(s.Budget, now) }

const (
	// ofGroup is the part of its control group's memory that the runtime may use, in eighths. The
	// kernel charges the buffers of sockets to the same group.
	ofGroup = 6
	// ofSmallGroup is that of a group which is too small for leastLimit, in eighths.
	ofSmallGroup = 7
	// ofMachine is the part of the machine's memory, in eighths: others run there too.
	ofMachine = 2
	// leastLimit is what a daemon with a few peers uses. Below it the runtime would collect
	// garbage all the time and get nothing.
	leastLimit = 32 << 20
	// collectFrom is how many bytes peers must have given back before garbage is collected. Only
	// peers that held budget.Much count. In a small budget it is a collectPart-th.
	collectFrom = 4 << 20
	collectPart = 2
	// collectPause times the duration of a collection must pass before the next one. So a peer
	// that comes again and again costs a twentieth of a processor at most.
	collectPause = 20
	// goMemLimit is how an administrator sets the limit (package runtime).
	goMemLimit = "GOMEMLIMIT"
)

// Limit gives the runtime a soft limit, at which garbage is collected sooner. It is of the whole
// process, so nobody but who runs that calls it.
func Limit() {
	if os.Getenv(goMemLimit) == "" {
		debug.SetMemoryLimit(softLimit("/"))
	}
}

// collector collects garbage once peers have given back much memory. Otherwise their buffers stay
// in the pools, and the next peer's buffers come on top. The runtime collects by itself only when
// the heap has doubled, pools included.
type collector struct {
	freed int       // bytes that peers no longer hold
	next  time.Time // not before that
}

func (c *collector) collect(b *budget.Budget, now time.Time) {
	if c.freed += b.Freed(); c.freed < min(collectFrom, b.Bytes()/collectPart) || now.Before(c.next) {
		return
	}
	c.freed = 0
	runtime.GC() // pools keep what they have over one collection (sync.Pool)
	runtime.GC()
	c.next = now.Add(collectPause * time.Since(now))
}

// softLimit is how much memory this process should use, by the files of a system at root.
func softLimit(root string) int64 {
	limit := int64(math.MaxInt64)
	var machine unix.Sysinfo_t
	if unix.Sysinfo(&machine) == nil {
		limit = int64(uint64(machine.Totalram) * uint64(machine.Unit) / 8 * ofMachine)
	}
	least := int64(leastLimit)
	if n, ok := groupLimit(root); ok {
		// A limit as high as the group's would have the kernel end the process first.
		limit, least = min(limit, n/8*ofGroup), min(least, n/8*ofSmallGroup)
	}
	return max(limit, least)
}

// groupLimit is the least limit of this process's control group and those above it
// (cgroups(7), Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst).
func groupLimit(root string) (least int64, ok bool) {
	text, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return 0, false
	}
	least = math.MaxInt64
	for line := range strings.Lines(string(text)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) < 3 {
			continue
		}
		switch {
		case part[0] == "0" && part[1] == "":
			least = min(least, leastAbove(filepath.Join(root, "sys/fs/cgroup"), part[2], "memory.max", "memory.high"))
			// With both versions, the second one may be beside the first.
			least = min(least, leastAbove(filepath.Join(root, "sys/fs/cgroup/unified"), part[2], "memory.max", "memory.high"))
		case strings.Contains(","+part[1]+",", ",memory,"):
			least = min(least, leastAbove(filepath.Join(root, "sys/fs/cgroup/memory"), part[2], "memory.limit_in_bytes", "memory.soft_limit_in_bytes"))
		}
	}
	return least, least < math.MaxInt64
}

// leastAbove is the least value of these files in the group at path and those above it. In a
// container the path may be one of the host's, which is not there: its own group is the top.
func leastAbove(top, path string, files ...string) int64 {
	least := int64(math.MaxInt64)
	for dir := filepath.Clean("/" + path); ; dir = filepath.Dir(dir) {
		for _, name := range files {
			// "max" is no number, and the first version's is one near the end of 63 bits.
			text, err := os.ReadFile(filepath.Join(top, dir, name))
			if n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bad == nil && n > 0 {
				least = min(least, n)
			}
		}
		if dir == "/" {
			return least
		}
	}
}
