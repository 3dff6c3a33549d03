package fabric

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// netnsDir is the directory in which ip-netns(8) keeps its named namespaces.
const netnsDir = "/run/netns"

// killWait is the time between SIGTERM and SIGKILL for the processes in a namespace. Two seconds
// are long enough for a daemon to remove its routes.
const killWait = 2 * time.Second

// Namespace is a named network namespace.
type Namespace struct{ Name string }

// newNamespace creates a network namespace, and brings its loopback device up.
func newNamespace(name string) (*Namespace, error) {
	if err := guarded(); err != nil {
		return nil, err
	}
	if _, err := run("", "ip", "netns", "add", name); err != nil {
		return nil, err
	}
	n := &Namespace{Name: name}
	_, err := run("", "ip", "-n", name, "link", "set", "lo", "up")
	return n, err
}

// Path returns the file that setns(2) needs to enter the namespace.
func (n *Namespace) Path() string { return filepath.Join(netnsDir, n.Name) }

// Command prepares a command to run inside the namespace. ip-netns(8) replaces itself by the
// command, so the command has the process ID of the started process.
func (n *Namespace) Command(name string, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", n.Name, name}, args...)...)
}

// Run runs a command inside the namespace, waits for its end, and returns its standard output.
// The error contains the standard error output of the command.
func (n *Namespace) Run(name string, args ...string) (string, error) {
	return run("", "ip", append([]string{"netns", "exec", n.Name, name}, args...)...)
}

// Do calls a function on a thread inside the namespace. Sockets of the function stay in the
// namespace, but its new goroutines do not run there.
func (n *Namespace) Do(fn func() error) error {
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer home.Close()
	err = n.enter(fn)
	if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
		// The thread stays locked, so that no other goroutine runs in the namespace.
		return errors.Join(err, fmt.Errorf("setns back from %s: %w", n.Name, back))
	}
	runtime.UnlockOSThread()
	return err
}

func (n *Namespace) enter(fn func() error) error {
	f, err := os.Open(n.Path())
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("setns %s: %w", n.Name, err)
	}
	return fn()
}

// Listen calls net.Listen inside the namespace.
func (n *Namespace) Listen(network, address string) (l net.Listener, err error) {
	err = n.Do(func() (err error) { l, err = net.Listen(network, address); return err })
	return l, err
}

// ListenPacket calls net.ListenPacket inside the namespace.
func (n *Namespace) ListenPacket(network, address string) (c net.PacketConn, err error) {
	err = n.Do(func() (err error) { c, err = net.ListenPacket(network, address); return err })
	return c, err
}

// Dial calls net.DialTimeout inside the namespace. The address must be numeric, because a
// resolver would look up a name outside the namespace.
func (n *Namespace) Dial(network, address string, d time.Duration) (c net.Conn, err error) {
	err = n.Do(func() (err error) { c, err = net.DialTimeout(network, address, d); return err })
	return c, err
}

// setSysctl sets kernel parameters of the namespace. The names are those in /proc/sys, with
// slashes or dots.
func (n *Namespace) setSysctl(values map[string]string) error {
	return n.Do(func() error {
		for k, v := range values {
			f := "/proc/sys/" + strings.ReplaceAll(k, ".", "/")
			if err := os.WriteFile(f, []byte(v), 0o644); err != nil {
				return fmt.Errorf("%s: %s = %s: %w", n.Name, k, v, err)
			}
		}
		return nil
	})
}

// Pids returns the IDs of the processes in the namespace.
func (n *Namespace) Pids() []int {
	out, err := run("", "ip", "netns", "pids", n.Name)
	if err != nil {
		return nil
	}
	var pids []int
	for _, f := range strings.Fields(out) {
		// A thread of this process may be inside the namespace for a moment.
		if pid, err := strconv.Atoi(f); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// remove ends the processes in the namespace, and deletes the namespace.
func (n *Namespace) remove() error {
	for sig, until := syscall.SIGTERM, time.Now().Add(killWait); ; {
		pids := n.Pids()
		if len(pids) == 0 {
			break
		}
		for _, pid := range pids {
			// A process that has meanwhile ended needs no signal.
			_ = syscall.Kill(pid, sig)
		}
		if sig == syscall.SIGKILL && time.Now().After(until) {
			return fmt.Errorf("fabric: processes %v in %s do not end", pids, n.Name)
		}
		if sig == syscall.SIGTERM && time.Now().After(until) {
			sig, until = syscall.SIGKILL, time.Now().Add(killWait)
		}
		time.Sleep(20 * time.Millisecond)
	}
	_, err := run("", "ip", "netns", "del", n.Name)
	return err
}

// removeAll removes namespaces concurrently, because each may wait for a slow process.
func removeAll(boxes []*Namespace) error {
	errs := make([]error, len(boxes))
	var wg sync.WaitGroup
	for i, n := range boxes {
		wg.Go(func() { errs[i] = n.remove() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// run runs a command on the host with the given standard input.
func run(stdin, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}
