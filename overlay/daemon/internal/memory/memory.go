// Package memory limits the memory that all peers of a daemon use together.
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

// Shared is the memory budget that all peers share.
type Shared struct {
	Budget    *budget.Budget
	collector collector
}

// New returns a Shared whose budget is a part of the runtime's memory limit.
func New() *Shared { return &Shared{Budget: budget.New(budget.Of(debug.SetMemoryLimit(-1)))} }

// Collect starts a garbage collection if peers have released much memory. Only one goroutine may
// call Collect.
func (s *Shared) Collect(now time.Time) { s.collector.collect(s.Budget, now) }

const (
	// ofGroup is the share of the control group's memory limit that the Go runtime gets, in eighths
	// of the limit. The rest is for memory that the kernel charges to the same group, such as
	// socket buffers.
	ofGroup = 6
	// ofSmallGroup is the same share in a group that is too small for leastLimit, in eighths of the
	// group's limit.
	ofSmallGroup = 7
	// ofMachine is the share of the machine's memory that the Go runtime gets, in eighths of that
	// memory. It is small because the machine runs other programs too.
	ofMachine = 2
	// leastLimit is the memory that a daemon with a few peers needs. With a lower limit the runtime
	// would collect garbage all the time without freeing much.
	leastLimit = 32 << 20
	// A garbage collection starts when peers have released collectFrom bytes. Only queues that held
	// at least budget.Much bytes count. In a small budget the threshold of the collection is
	// budget/collectPart.
	collectFrom = 4 << 20
	collectPart = 2
	// The next garbage collection starts no earlier than collectPause times the duration of the
	// last one after it. So a peer that reconnects repeatedly causes collections for at most a
	// twentieth of a processor's time.
	collectPause = 20
	// goMemLimit is the environment variable in which an administrator sets the limit (package
	// runtime).
	goMemLimit = "GOMEMLIMIT"
)

// Limit sets the runtime's soft memory limit, near which garbage is collected sooner. The limit
// applies to the whole process, so only the program's own start may call Limit.
func Limit() {
	if os.Getenv(goMemLimit) == "" {
		debug.SetMemoryLimit(softLimit("/"))
	}
}

// collector starts a garbage collection after peers have released much memory. Without a
// collection, released buffers would stay in the pools while further peers allocate more. The Go
// runtime itself collects only when the heap has doubled, pools included.
type collector struct {
	freed int       // bytes that peers have released since the last collection
	next  time.Time // earliest time of the next collection
}

func (c *collector) collect(b *budget.Budget, now time.Time) {
	if c.freed += b.Freed(); c.freed < min(collectFrom, b.Bytes()/collectPart) || now.Before(c.next) {
		return
	}
	c.freed = 0
	runtime.GC() // run twice, because a sync.Pool keeps its content through one collection
	runtime.GC()
	c.next = now.Add(collectPause * time.Since(now))
}

// softLimit returns the memory that this process should use, computed from the system files
// below root.
func softLimit(root string) int64 {
	limit := int64(math.MaxInt64)
	var machine unix.Sysinfo_t
	if unix.Sysinfo(&machine) == nil {
		limit = int64(uint64(machine.Totalram) * uint64(machine.Unit) / 8 * ofMachine)
	}
	least := int64(leastLimit)
	if n, ok := groupLimit(root); ok {
		// The result stays below the group's limit, at which the kernel would kill the process.
		limit, least = min(limit, n/8*ofGroup), min(least, n/8*ofSmallGroup)
	}
	return max(limit, least)
}

// groupLimit returns the smallest memory limit of this process's control group and all groups
// above it (cgroups(7), Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst).
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
			// If both cgroup versions are mounted, version 2 may be in a subdirectory of version 1.
			least = min(least, leastAbove(filepath.Join(root, "sys/fs/cgroup/unified"), part[2], "memory.max", "memory.high"))
		case strings.Contains(","+part[1]+",", ",memory,"):
			least = min(least, leastAbove(filepath.Join(root, "sys/fs/cgroup/memory"), part[2], "memory.limit_in_bytes", "memory.soft_limit_in_bytes"))
		}
	}
	return least, least < math.MaxInt64
}

// leastAbove returns the smallest value of the given files in the group at path and the groups
// above it. In a container, path may be a path of the host that does not exist in the container.
// There the top of the tree is the container's own group.
func leastAbove(top, path string, files ...string) int64 {
	least := int64(math.MaxInt64)
	for dir := filepath.Clean("/" + path); ; dir = filepath.Dir(dir) {
		for _, name := range files {
			// The value "max" is not a number, and means no limit. Version 1 of cgroups uses a number
			// near 2^63 for no limit.
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
