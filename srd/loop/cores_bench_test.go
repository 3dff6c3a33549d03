//go:build !race

package loop

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The cost of one peer's lock, with as many threads at each end as -cpu says:
//
//	go test ./srd/loop -run '^$' -bench Cores -cpu 1,2,4,8
//
// Both ends are in this process. Threads beyond the number of processors take turns. The
// receiving end is the busier one. For each of its trains the benchmark reports how often
// its lock was taken and waited for. It also reports microseconds of work inside the
// lock, of waiting for it, and of the process's work outside both ends' locks.
func BenchmarkCores(b *testing.B) {
	const size, warm = 1300, 50_000
	x, y := newHosts(b, runtime.GOMAXPROCS(0))
	for _, h := range []*host{x, y} {
		h.peer.Lock()
		h.peer.app = &frugal{data: make([]byte, size), done: make(chan struct{}, 1)}
		h.peer.Unlock()
	}
	carry(b, x, y, warm)
	from, to, cpu := x.peer.Carried(), y.peer.Carried(), processTime()
	b.SetBytes(size)
	b.ResetTimer()
	carry(b, x, y, b.N)
	b.StopTimer()
	cpu = processTime() - cpu
	sent, took := x.peer.Carried().since(&from), y.peer.Carried().since(&to)
	trains := float64(took.In)
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / trains }
	for _, m := range []struct {
		value float64
		unit  string
	}{
		{float64(sent.Lock.Taken) / trains, "sender-locks/train"},
		{us(sent.Lock.Work()), "sender-us-locked/train"},
		{us(sent.Lock.Waited), "sender-us-waited/train"},
		{float64(took.Lock.Taken) / trains, "locks/train"},
		{float64(took.Lock.Waits) / trains, "waits/train"},
		{us(took.Lock.Work()), "us-locked/train"},
		{us(took.Lock.Waited), "us-waited/train"},
		{us(cpu - sent.Lock.Work() - took.Lock.Work()), "us-free/train"},
		{trains / b.Elapsed().Seconds(), "trains/s"},
	} {
		b.ReportMetric(m.value, m.unit)
	}
}

// since returns the counts since old.
func (c Carried) since(old *Carried) Carried {
	c.In, c.Out = c.In-old.In, c.Out-old.Out
	g, o := &c.Lock, &old.Lock
	g.Taken, g.Waits, g.Waited = g.Taken-o.Taken, g.Waits-o.Waits, g.Waited-o.Waited
	g.Samples, g.Sampled, g.Worked = g.Samples-o.Samples, g.Sampled-o.Sampled, g.Worked-o.Worked
	return c
}

// processTime returns the processor time of this process.
func processTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(fmt.Sprint("clock: ", err))
	}
	return time.Duration(t.Nano())
}
