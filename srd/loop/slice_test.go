package loop

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// All threads get short turns, those that are made later too.
func TestShortSlices(t *testing.T) {
	const other = 3_000_000 // what most have without asking
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
	// Only a thread of its own is surely a new one, or one that was there before.
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
