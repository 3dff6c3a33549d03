// Package hostdelay records with which delay the operating system of a machine wakes a process. The
// simulator models a host with this record (lab/hosts). The command needs root, because it creates
// namespaces.
//
//	bench hostdelay [-busy N] [-samples N] [-o FILE]
//
// The measuring process sleeps in the same way as a worker of the daemon (srd/loop): it blocks in
// epoll with one timerfd, without Go's scheduler. The process runs in a namespace at one end of a
// veth pair. The command measures two delays and several costs. A timer's delay runs from its due
// time to its handling. An arrival's delay runs from the kernel's stamp on a packet
// (SO_TIMESTAMPNS) to its handling. The recorded costs are the processor times of sending a train,
// of receiving a train, and of AES-256-GCM.
//
// With -busy N, N busy-looping processes run during the measurement. On a shared machine, run the
// command with a high scheduling priority, so that other processes do not disturb the measurement.
// "chrt -f 10 hostdelay" records an otherwise idle machine. "nice -n -20 hostdelay -busy 2" records
// a machine on which only two busy-looping processes compete.
package hostdelay

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Main runs the subcommand "bench hostdelay".
func Main(args []string) error {
	f := flag.NewFlagSet("bench hostdelay", flag.ContinueOnError)
	busy := f.Int("busy", 0, "`N` processes spin meanwhile")
	samples := f.Int("samples", 20000, "of each delay")
	out := f.String("o", "", "the `file` to write (default: standard output)")
	spin := f.Bool("spin", false, "only spin; what -busy starts")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *spin {
		var n uint64
		for {
			n++ // its only purpose is to keep a processor busy
		}
	}
	return run(*busy, *samples, *out)
}

func run(busy, samples int, file string) error {
	if busy < 0 || samples < len(quantiles) {
		return fmt.Errorf("-busy %d -samples %d: want 0 and %d at least", busy, samples, len(quantiles))
	}
	// This thread starts the busy-looping processes and enters the namespace, so it must remain the
	// same thread until the process ends.
	runtime.LockOSThread()
	stop, err := spinners(busy)
	defer stop()
	if err != nil {
		return err
	}
	s, err := newSite()
	if err != nil {
		return err
	}
	defer s.close()
	r := record{busy: busy}
	if err := s.measure(samples, &r); err != nil {
		return err
	}
	w := io.Writer(os.Stdout)
	if file != "" {
		f, err := os.Create(file)
		if err != nil {
			return err
		}
		defer f.Close()
		w = f
	}
	return r.write(w)
}

// spinners starts n busy-looping processes, and returns a function that ends them.
func spinners(n int) (stop func(), err error) {
	var all []*exec.Cmd
	stop = func() {
		for _, c := range all {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
	self, err := os.Executable()
	for range n {
		if err != nil {
			break
		}
		c := exec.Command(self, "hostdelay", "-spin")
		c.Env = append(os.Environ(), "GOMAXPROCS=1")
		// If the measurement is interrupted, the kernel then also ends the busy-looping processes.
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err = c.Start(); err == nil {
			all = append(all, c)
		}
	}
	return stop, err
}

// quantiles has the quantiles that are the columns of the table.
var quantiles = []float64{0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 1}

// record holds the measured delays and costs of one recording.
type record struct {
	busy           int
	timer, arrival []time.Duration
	costs          []cost
}

// cost is a named processor time.
type cost struct {
	name string
	took time.Duration
}

// write prints the table in the form that package lab reads.
func (r *record) write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Recorded by bench hostdelay -busy %d on %s, %d processors, load %s, %s.\n",
		r.busy, time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), load(), priority())
	for _, c := range r.costs {
		fmt.Fprintf(&b, "%s %v\n", c.name, c.took)
	}
	slices.Sort(r.timer)
	slices.Sort(r.arrival)
	fmt.Fprintln(&b, "# share of all, timer late by at most, arrival to handling")
	for _, q := range quantiles {
		fmt.Fprintf(&b, "quantile %v %v %v\n", q, at(r.timer, q), at(r.arrival, q))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// at returns the quantile q of sorted values.
func at(v []time.Duration, q float64) time.Duration { return v[int(q*float64(len(v)-1))] }

// load returns the system's load average of the last minute.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(b), " ")
	return first
}

// middle returns the median of v.
func middle(v []time.Duration) time.Duration {
	slices.Sort(v)
	return v[len(v)/2]
}

// priority returns the scheduling priority of this process.
func priority() string {
	a, err := unix.SchedGetAttr(0, 0)
	switch {
	case err != nil:
		return "priority unknown"
	case a.Policy == unix.SCHED_FIFO:
		return "before all others"
	}
	return fmt.Sprintf("nice %d", a.Nice)
}
