package fabric

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// logMax bounds the stored output of a process in bytes. 64 KiB are enough for the last messages
// of a failing process.
const logMax = 64 << 10

// Log keeps the last logMax bytes written to it. The zero value of a Log is ready to use, and
// several goroutines may use it.
type Log struct {
	mu  sync.Mutex
	buf []byte
}

// Write stores p, and never fails.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, p...)
	// Cutting at twice the bound moves each byte only once, rather than at every write.
	if len(l.buf) > 2*logMax {
		l.buf = append(l.buf[:0], l.buf[len(l.buf)-logMax:]...)
	}
	return len(p), nil
}

// String returns the stored output.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.buf[max(0, len(l.buf)-logMax):])
}

// Process is a background process in a namespace.
type Process struct {
	Log  Log // standard error, and standard output unless StartWith redirects it
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// Start starts a command in the namespace, and stores its output in the process's Log.
func (n *Namespace) Start(name string, args ...string) (*Process, error) {
	return n.StartWith(nil, nil, name, args...)
}

// StartWith is like Start, with additional environment variables. Standard output is written to
// stdout, unless stdout is nil.
func (n *Namespace) StartWith(stdout io.Writer, env []string, name string, args ...string) (*Process, error) {
	return n.StartFiles(nil, stdout, env, name, args...)
}

// StartFiles is like StartWith, with open files as the descriptors from 3 on.
func (n *Namespace) StartFiles(files []*os.File, stdout io.Writer, env []string, name string, args ...string) (*Process, error) {
	p := &Process{cmd: n.Command(name, args...), done: make(chan struct{})}
	p.cmd.ExtraFiles = files
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr, p.cmd.Stdout = &p.Log, &p.Log
	if stdout != nil {
		p.cmd.Stdout = stdout
	}
	// An interrupt from the terminal should reach only the test program. The test program decides
	// in which order its processes end.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// The process starts inside the namespace, so that an immediate removal of the namespace
	// finds it. With ip-netns(8) alone, the process would enter the namespace only later.
	if err := n.Do(p.cmd.Start); err != nil {
		return nil, fmt.Errorf("%s in %s: %w", name, n.Name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Done returns a channel that is closed at the end of the process.
func (p *Process) Done() <-chan struct{} { return p.done }

// Pid returns the ID of the process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Wait waits for the end of the process, at most d, and returns its exit error. After d, Wait
// kills the process, and returns an error that says so.
func (p *Process) Wait(d time.Duration) error {
	select {
	case <-p.done:
		return p.err
	case <-time.After(d):
		p.Kill()
		return fmt.Errorf("process %d still ran after %v", p.Pid(), d)
	}
}

// Signal sends a signal to the process. If the process has ended, Signal does nothing.
func (p *Process) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// Kill sends SIGKILL, and waits for the end of the process.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.done
}

// Stop sends SIGTERM, and later SIGKILL if the process still runs after d.
func (p *Process) Stop(d time.Duration) error {
	p.Signal(syscall.SIGTERM)
	return p.Wait(d)
}
