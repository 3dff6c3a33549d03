// Package holder finds the process that holds a resource of this host. It reads /proc (proc(5)),
// so it sees only processes of its own pid namespace. Most facts about other users' processes are
// visible only to root. Every function returns the zero Process if it finds no process.
package holder

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Process is a running process.
type Process struct {
	PID  int    // 0: none
	Name string // of its program, at most 15 bytes
}

// String returns the text for messages.
func (p Process) String() string {
	if p.Name == "" {
		return fmt.Sprintf("process %d", p.PID)
	}
	return fmt.Sprintf("process %d (%s)", p.PID, p.Name)
}

func process(pid int) Process {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return Process{}
	}
	return Process{pid, strings.TrimSpace(strings.ToValidUTF8(string(name), "?"))}
}

// OfLock returns the process that has locked a file by flock(2). Any user may ask. If /proc hides
// the process from the caller, its name is "".
func OfLock(path string) Process {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return Process{}
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return Process{}
	}
	inode := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	for line := range strings.Lines(string(locks)) {
		// 1: FLOCK  ADVISORY  WRITE 1234 00:19:5678 0 EOF
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "FLOCK" || f[5] != inode {
			continue
		}
		if pid, err := strconv.Atoi(f[4]); err == nil && pid > 0 {
			p := process(pid)
			p.PID = pid
			return p
		}
	}
	return Process{}
}

// OfDevice returns the process that has a TUN device open, in the network namespace of the caller.
func OfDevice(name string) Process {
	if _, err := net.InterfaceByName(name); err != nil {
		return Process{}
	}
	want := []byte("iff:\t" + name + "\n")
	all := openers("/dev/net/tun", func(pid, fd string) bool {
		info, err := os.ReadFile("/proc/" + pid + "/fdinfo/" + fd)
		return err == nil && bytes.Contains(info, want) && sameNetwork(pid)
	})
	return Last(all)
}

// Last returns the last of several processes that share a resource. The first is often the service
// manager, which keeps descriptors for a restart.
func Last(all []Process) Process {
	if len(all) == 0 {
		return Process{}
	}
	return all[len(all)-1]
}

// SameNetwork reports whether a process is in the caller's network namespace. It returns false if
// the caller may not know.
func (p Process) SameNetwork() bool { return sameNetwork(strconv.Itoa(p.PID)) }

func sameNetwork(pid string) bool {
	var own, other unix.Stat_t
	return unix.Stat("/proc/thread-self/ns/net", &own) == nil && unix.Stat("/proc/"+pid+"/ns/net", &other) == nil && own.Ino == other.Ino
}

// openers returns the processes with a descriptor that leads to a path and is the right one.
func openers(path string, right func(pid, fd string) bool) (v []Process) {
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	for _, dir := range all {
		fds, _ := os.ReadDir(dir + "/fd") // another user's process, or it has ended
		i := slices.IndexFunc(fds, func(fd os.DirEntry) bool {
			to, err := os.Readlink(dir + "/fd/" + fd.Name())
			return err == nil && to == path && right(filepath.Base(dir), fd.Name())
		})
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && i >= 0 {
			v = append(v, process(pid))
		}
	}
	return v
}
