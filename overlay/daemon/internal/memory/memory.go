// Package memory bounds the memory that all peers of a daemon use together.
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

// Shared is the memory that all peers share.
type Shared struct {
	Budget    *budget.Budget
	collector collector
}

// New returns a budget with a part of the runtime's limit.
func New() *Shared { return &Shared{Budget: budget.New(budget.Of(debug.SetMemoryLimit(-1)))} }

// Collect collects garbage if peers have given back much memory. One goroutine calls it.
func (s *Shared) Collect(now time.Time) { s.collector.collect(s.Budget, now) }

const (
	// ofGroup is the runtime's part of the control group's memory, in eighths. The kernel charges
	// the buffers of sockets to the same group.
	ofGroup = 6
	// ofSmallGroup is the runtime's part of the memory of a group that is too small for
	// leastLimit, in eighths.
	ofSmallGroup = 7
	// ofMachine is the runtime's part of the machine's memory, in eighths, because other programs
	// run there too.
	ofMachine = 2
	// leastLimit is the memory of a daemon with a few peers. Below it the runtime would collect
	// garbage all the time without freeing much.
	leastLimit = 32 << 20
	// When peers have given back collectFrom bytes, a garbage collection starts. Only peers that
	// held budget.Much count. In a small budget the bound is a collectPart-th of the budget.
	collectFrom = 4 << 20
	collectPart = 2
	// After a collection, the next one waits for collectPause times its duration. So a peer that
	// reconnects repeatedly costs at most a twentieth of a processor.
	collectPause = 20
	// goMemLimit is the environment variable for an administrator's limit (package runtime).
	goMemLimit = "GOMEMLIMIT"
)

// Limit sets the runtime's soft limit, near which it collects garbage sooner. The limit covers
// the whole process, so only the program's own start may call Limit.
func Limit() {
	if os.Getenv(goMemLimit) == "" {
		debug.SetMemoryLimit(softLimit("/"))
	}
}

// collector collects garbage once peers have given back much memory. Otherwise their buffers stay
// in the pools, and the next peer's buffers are added to them. The runtime collects by itself
// only when the heap has doubled, pools included.
type collector struct {
	freed int       // bytes that peers no longer hold
	next  time.Time // earliest time of the next collection
}

func (c *collector) collect(b *budget.Budget, now time.Time) {
	if c.freed += b.Freed(); c.freed < min(collectFrom, b.Bytes()/collectPart) || now.Before(c.next) {
		return
	}
	c.freed = 0
	runtime.GC() // twice: a sync.Pool keeps its content over one collection
	runtime.GC()
	c.next = now.Add(collectPause * time.Since(now))
}

// softLimit returns the memory that this process should use, from the system files below root.
func softLimit(root string) int64 {
	limit := int64(math.MaxInt64)
	var machine unix.Sysinfo_t
	if unix.Sysinfo(&machine) == nil {
		limit = int64(uint64(machine.Totalram) * uint64(machine.Unit) / 8 * ofMachine)
	}
	least := int64(leastLimit)
	if n, ok := groupLimit(root); ok {
		// The limit stays below the group's limit, at which the kernel would end the process.
		limit, least = min(limit, n/8*ofGroup), min(least, n/8*ofSmallGroup)
	}
	return max(limit, least)
}

// groupLimit returns the smallest limit of this process's control group and the groups above it
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
			// If both cgroup versions are mounted, the second one may be in a subdirectory of the
			// first.
			least = min(least, leastAbove(filepath.Join(root, "sys/fs/cgroup/unified"), part[2], "memory.max", "memory.high"))
		case strings.Contains(","+part[1]+",", ",memory,"):
			least = min(least, leastAbove(filepath.Join(root, "sys/fs/cgroup/memory"), part[2], "memory.limit_in_bytes", "memory.soft_limit_in_bytes"))
		}
	}
	return least, least < math.MaxInt64
}

// leastAbove returns the smallest value of these files in the group at path and the groups above
// it. A container may see the host's path, which does not exist in it. Then the top of the tree is
// the container's own group.
func leastAbove(top, path string, files ...string) int64 {
	least := int64(math.MaxInt64)
	for dir := filepath.Clean("/" + path); ; dir = filepath.Dir(dir) {
		for _, name := range files {
			// The value "max" is not a number. Version 1 has a number near 2^63 instead.
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
