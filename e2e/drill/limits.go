package drill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// descriptors exhausts the file descriptors of a running daemon. After that, the drill starts
// daemons that may open too few descriptors.
func descriptors(r *run) error {
	d, err := r.direct()
	if err != nil {
		return err
	}
	p, err := r.passive(d.A, d.B)
	if err != nil {
		return err
	}
	s, err := r.stream(d.A, d.B)
	if err != nil {
		return err
	}
	time.Sleep(time.Second)
	for _, n := range []*tunnel.Node{p.A, p.B} {
		if err := exhaust(n.Pid()); err != nil {
			return err
		}
	}
	_, _ = p.B.Show() // may fail, and must do no harm
	// Because of the new address, the daemon looks up a route, which needs a descriptor.
	if _, err := d.B.Run("ip", "addr", "add", "10.1.1.99/24", "dev", "eth0"); err != nil {
		return err
	}
	from := time.Now()
	time.Sleep(3 * time.Second)
	alive := "both run"
	if !p.A.Running() || !p.B.Running() {
		alive = "ended"
	}
	r.is("daemons without a descriptor", "both run", alive)
	r.within("longest pause of the traffic", s.LongestGap(from, time.Now()), maxMove)
	return r.beginWithFew(p.A)
}

// exhaust lowers a process's limit so that it has no free descriptor.
func exhaust(pid int) error {
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return err
	}
	limit := uint64(len(open))
	return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: limit}, nil)
}

// beginWithFew starts daemons with a limit below the descriptors that they need.
func (r *run) beginWithFew(n *tunnel.Node) error {
	if err := n.Stop(); err != nil {
		return err
	}
	if err := os.WriteFile(n.File, n.Config.TOML(), 0o600); err != nil {
		return err
	}
	var bad []string
	for _, limit := range []int{12, 20, 40, 60} {
		p, err := n.Host.Start("prlimit", fmt.Sprintf("--nofile=%d", limit), n.Bin, "up", n.File)
		if err != nil {
			return err
		}
		err = p.Wait(3 * time.Second)
		said := strings.TrimSpace(p.Log.String())
		if err == nil || strings.Contains(said, "goroutine ") || !strings.Contains(said, "too many open files") {
			bad = append(bad, fmt.Sprintf("%d: %v %q", limit, err, said))
		}
	}
	got := "says why"
	if len(bad) > 0 {
		got = "does not"
		fmt.Fprintln(r.Log, strings.Join(bad, "\n"))
	}
	r.is("a daemon that begins with too few", "says why", got)
	return nil
}

// memoryCap is the memory of a small virtual machine or container, in bytes.
const memoryCap = 256 << 20

// memory makes a daemon with little memory carry as much traffic as the machine can. The kernel
// kills a daemon that uses more memory.
func memory(r *run) error {
	f, err := r.fabric(fabric.Spec{RateMbit: -1})
	if err != nil {
		return err
	}
	p, err := r.pair(f.A(1), f.B(1), tunnel.Config{})
	if err != nil {
		return err
	}
	enforced := true
	for _, n := range []*tunnel.Node{p.A, p.B} {
		undo, err := confine(n.Name, n.Pid(), memoryCap)
		if err != nil {
			enforced = false
			fmt.Fprintln(r.Log, "memory: it is only measured:", err)
			continue
		}
		r.later(undo)
	}
	flow, err := meter.Start(meter.Flow{Client: f.A(1), Server: f.B(1), To: tunnel.Inner4(2), Streams: 64, For: r.pick(5*time.Second, 20*time.Second)})
	if err != nil {
		return err
	}
	r.later(func() error { flow.Stop(); return nil })
	r.survives(flow)
	for side, n := range map[string]*tunnel.Node{"sender": p.A, "receiver": p.B} {
		u, err := n.Usage()
		if err != nil {
			return fmt.Errorf("%s ended: %w", n.Name, err)
		}
		what := side + ": most resident memory"
		if enforced {
			what += ", and the kernel's cap"
		}
		r.most(what, float64(u.Peak)/(1<<20), memoryCap>>20, " MiB")
	}
	return nil
}

// confine puts a process into a new control group with the given memory in bytes.
func confine(name string, pid int, bytes int) (undo func() error, err error) {
	var all error
	for _, v := range []struct{ root, limit string }{
		{filepath.Join("/sys/fs/cgroup/memory", ownGroup("memory")), "memory.limit_in_bytes"},
		{filepath.Join("/sys/fs/cgroup", ownGroup("")), "memory.max"},
		{"/sys/fs/cgroup", "memory.max"}, // a group with processes in it may have no others that count
	} {
		dir := filepath.Join(v.root, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			all = errors.Join(all, err)
			continue
		}
		undo = func() error {
			// If the process still runs, it returns to its previous control group.
			_ = os.WriteFile(filepath.Join(v.root, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644)
			return os.Remove(dir)
		}
		err := errors.Join(
			os.WriteFile(filepath.Join(dir, v.limit), []byte(strconv.Itoa(bytes)), 0o644),
			os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644),
		)
		if err == nil {
			return undo, nil
		}
		all = errors.Join(all, err, undo())
	}
	return nil, all
}

// ownGroup returns this process's control group for a controller of cgroups version 1, or in
// version 2 if controller is "" (cgroups(7)).
func ownGroup(controller string) string {
	b, _ := os.ReadFile("/proc/self/cgroup") // without it the root is tried
	for line := range strings.Lines(string(b)) {
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); len(f) == 3 && f[1] == controller {
			return f[2]
		}
	}
	return "/"
}
