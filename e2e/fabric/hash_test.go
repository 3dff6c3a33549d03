package fabric

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestProgramLoadsWhileSignalled loads the program on a thread that constantly gets signals, as
// Go's runtime sends them to preempt a thread.
func TestProgramLoadsWhileSignalled(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, tid := unix.Getpid(), unix.Gettid()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
				_ = unix.Tgkill(pid, tid, unix.SIGURG)
			}
		}
	}()
	defer func() { close(done); <-ended }()
	const loads = 500 // with signals let in, one of the first few fails
	for range loads {
		fd, err := loadHashProgram()
		must(t, err)
		_ = unix.Close(fd)
	}
}
