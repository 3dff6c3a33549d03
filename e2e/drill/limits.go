package drill

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

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
	_, _ = p.B.Show() // the command may fail, but must not harm the daemon
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
