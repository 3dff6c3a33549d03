package loop

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// All threads get short slices, later ones too.
func TestShortSlices(t *testing.T) {
	const other = 3_000_000 // default of most kernels
	shortSlices(slice)
	defer shortSlices(other)
	a, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := a.Runtime // 0 before Linux 6.12
	if want != 0 && want != slice {
		t.Fatalf("this thread has turns of %d ns, want %d", want, slice)
	}
	done := make(chan uint64)
	// A goroutine may run on a new thread or on an old one.
	for range 8 {
		go func() {
			a, err := unix.SchedGetAttr(0, 0)
			if err != nil {
				t.Error(err)
				a = &unix.SchedAttr{}
			}
			done <- a.Runtime
		}()
		if got := <-done; got != want {
			t.Errorf("a thread has turns of %d ns, want %d", got, want)
		}
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		if a, err := unix.SchedGetAttr(tid, 0); err == nil && a.Runtime != want {
			t.Errorf("thread %d has turns of %d ns, want %d", tid, a.Runtime, want)
		}
	}
}
