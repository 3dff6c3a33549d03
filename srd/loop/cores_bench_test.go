//go:build !race

package loop

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkCores measures the cost of one train, with as many threads at each end as -cpu
// says, and how long the threads wait for each other's locks:
//
//	go test ./srd/loop -run '^$' -bench Cores -cpu 1,2,4,8 -mutexprofile mutex.out
//
// Both ends are in this process. If there are more threads than processors, they take
// turns. The receiving end has more work.
func BenchmarkCores(b *testing.B) {
	const size, warm = 1300, 50_000
	x, y := newHosts(b, runtime.GOMAXPROCS(0))
	for _, h := range []*host{x, y} {
		h.peer.Lock()
		h.peer.app = &frugal{data: make([]byte, size), done: make(chan struct{}, 1)}
		h.peer.Unlock()
	}
	carry(b, x, y, warm)
	before, cpu := y.peer.Carried().In, processTime()
	b.SetBytes(size)
	b.ResetTimer()
	carry(b, x, y, b.N)
	b.StopTimer()
	cpu = processTime() - cpu
	trains := float64(y.peer.Carried().In - before)
	b.ReportMetric(float64(cpu.Nanoseconds())/1e3/trains, "us/train")
	b.ReportMetric(trains/b.Elapsed().Seconds(), "trains/s")
}

// processTime returns the processor time of this process.
func processTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(fmt.Sprint("clock: ", err))
	}
	return time.Duration(t.Nano())
}
