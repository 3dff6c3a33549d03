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

// killWait is the time between SIGTERM and SIGKILL for the processes in a namespace. It is long
// enough for a daemon to remove its routes.
const killWait = 2 * time.Second

// Namespace is one named network namespace.
type Namespace struct{ Name string }

// newNamespace creates the namespace and brings its loopback device up.
func newNamespace(name string) (*Namespace, error) {
	if _, err := run("", "ip", "netns", "add", name); err != nil {
		return nil, err
	}
	n := &Namespace{Name: name}
	_, err := run("", "ip", "-n", name, "link", "set", "lo", "up")
	return n, err
}

// Path returns the file that setns(2) opens for the namespace.
func (n *Namespace) Path() string { return filepath.Join(netnsDir, n.Name) }

// Command prepares a command that will run inside the namespace. ip-netns replaces itself with
// the command, so the started process is the command itself.
func (n *Namespace) Command(name string, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", n.Name, name}, args...)...)
}

// Run runs a command inside the namespace, waits for its end, and returns its standard output.
// The error contains the command's standard error.
func (n *Namespace) Run(name string, args ...string) (string, error) {
	return run("", "ip", append([]string{"netns", "exec", n.Name, name}, args...)...)
}

// Do calls fn on a thread inside the namespace. Sockets that fn makes stay in the namespace;
// goroutines that fn starts do not run in it.
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
		// The thread stays locked, so no other goroutine runs in the namespace.
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

// Listen is net.Listen inside the namespace.
func (n *Namespace) Listen(network, address string) (l net.Listener, err error) {
	err = n.Do(func() (err error) { l, err = net.Listen(network, address); return err })
	return l, err
}

// ListenPacket is net.ListenPacket inside the namespace.
func (n *Namespace) ListenPacket(network, address string) (c net.PacketConn, err error) {
	err = n.Do(func() (err error) { c, err = net.ListenPacket(network, address); return err })
	return c, err
}

// Dial is net.DialTimeout inside the namespace. The address must be numeric, because a resolver
// would look it up outside.
func (n *Namespace) Dial(network, address string, d time.Duration) (c net.Conn, err error) {
	err = n.Do(func() (err error) { c, err = net.DialTimeout(network, address, d); return err })
	return c, err
}

// setSysctl writes values. Their names are as in /proc/sys, with slashes or dots.
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

// Pids lists the processes that run in the namespace.
func (n *Namespace) Pids() []int {
	out, err := run("", "ip", "netns", "pids", n.Name)
	if err != nil {
		return nil
	}
	var pids []int
	for _, f := range strings.Fields(out) {
		// A thread of this process itself may be inside for a moment.
		if pid, err := strconv.Atoi(f); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// remove ends the namespace's processes and deletes the namespace.
func (n *Namespace) remove() error {
	for sig, until := syscall.SIGTERM, time.Now().Add(killWait); ; {
		pids := n.Pids()
		if len(pids) == 0 {
			break
		}
		for _, pid := range pids {
			// A process that has ended in the meantime needs no signal.
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

// removeAll removes namespaces in parallel, because each may wait for a slow process.
func removeAll(boxes []*Namespace) error {
	errs := make([]error, len(boxes))
	var wg sync.WaitGroup
	for i, n := range boxes {
		wg.Go(func() { errs[i] = n.remove() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// run runs a command of the host with the given standard input.
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
