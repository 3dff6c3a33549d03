package fabric

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// guardEnv is the environment variable that makes a process a guard. The variable contains the
// prefix of the names to remove.
const guardEnv = "SRDTUN_FABRIC_GUARD"

// runDir is the directory in which srdtun keeps the sockets and state files of its interfaces.
const runDir = "/run/srdtun"

// Prefix is the beginning of all names that this process gives to namespaces, tunnel interfaces
// (see TunnelName) and its scratch folder. The prefix contains the process ID, so concurrent runs
// have different names.
func Prefix() string { return prefixOf(os.Getpid()) }

func prefixOf(pid int) string { return fmt.Sprintf("srd%d-", pid) }

// TunnelName returns a name for a tunnel interface that the guard will remove. The suffix may
// have up to four letters, because the kernel limits an interface name to 15 bytes.
func TunnelName(suffix string) string { return Prefix() + suffix }

// Scratch returns a private folder for keys, configurations and logs, which the guard will
// remove.
func Scratch() (string, error) {
	if err := guarded(); err != nil {
		return "", err
	}
	dir := filepath.Join(os.TempDir(), Prefix()+"scratch")
	return dir, os.MkdirAll(dir, 0o700)
}

// lifeline is a pipe to the guard process. The end of the pipe shows the guard that this process
// has ended. No code closes the pipe, and no other child inherits it. The package variable keeps
// the garbage collector from closing the pipe.
//
//lint:ignore U1000 that nothing reads it is the point
var lifeline io.WriteCloser

// guarded starts the guard at its first call, before there is anything to remove. The guard is a
// second process of the same program, which waits for the end of this process. This process may
// end by a return, a panic, a signal or kill -9. The guard then removes what this process left
// behind.
var guarded = sync.OnceValue(startGuard)

// The guard works here, because the main function of a program may need arguments, or do other
// work first.
func init() {
	prefix := os.Getenv(guardEnv)
	if prefix == "" {
		return
	}
	// A service manager ends all processes of a service, but the guard ends last.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// The first process never writes to the pipe, so the end of input means that it has ended.
	_, _ = io.Copy(io.Discard, os.Stdin)
	sweep(prefix)
	os.Exit(0)
}

func startGuard() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	guard := exec.Command(self)
	guard.Env = append(os.Environ(), guardEnv+"="+Prefix())
	// The guard runs in a separate session, so that an interrupt from the terminal does not reach
	// it.
	guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if lifeline, err = guard.StdinPipe(); err != nil {
		return err
	}
	return guard.Start()
}

// Between two passes of a sweep, the last children of the ended process also end. For example, an
// "ip" process may still be creating a namespace. On a busy machine, that takes several passes.
const (
	sweepPause = 200 * time.Millisecond
	sweepEmpty = 3  // passes without finds end the sweep
	sweepMost  = 60 // passes, if something cannot be removed
)

// sweep removes all namespaces, sockets and files whose names have the prefix.
func sweep(prefix string) {
	for pass, empty := 0, 0; pass < sweepMost && empty < sweepEmpty; pass++ {
		empty++
		if sweepOnce(prefix) {
			empty = 0
		}
		time.Sleep(sweepPause)
	}
}

// sweepOnce reports whether it found something. Errors are ignored, because no process is left to
// report them to.
func sweepOnce(prefix string) bool {
	var boxes []*Namespace
	for _, path := range named(netnsDir, prefix) {
		boxes = append(boxes, &Namespace{Name: filepath.Base(path)})
	}
	_ = removeAll(boxes)
	files := append(named(runDir, prefix), named(os.TempDir(), prefix+"scratch")...)
	for _, f := range files {
		_ = os.RemoveAll(f)
	}
	return len(boxes)+len(files) > 0
}

// named returns the paths in dir whose names begin with the prefix.
func named(dir, prefix string) []string {
	paths, _ := filepath.Glob(filepath.Join(dir, prefix+"*"))
	return paths
}
