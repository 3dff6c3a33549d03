package fabric

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	dir := filepath.Join(os.TempDir(), Prefix()+"scratch")
	return dir, os.MkdirAll(dir, 0o700)
}

// lifeline is a pipe to the guard process. The end of the pipe shows the guard that this process
// has ended. No code closes the pipe, and no other child inherits it. The package variable keeps
// the garbage collector from closing the pipe.
//
//lint:ignore U1000 that nothing reads it is the point
var lifeline io.WriteCloser

// Guard must be called at the start of the main function of every program that builds fabrics.
// Guard starts a second process of the same program, which waits for the end of the first
// process. The first process may end by a return, a panic, a signal or kill -9. The second
// process then removes what the first process left behind. In the second process, Guard does not
// return.
func Guard() error {
	if prefix := os.Getenv(guardEnv); prefix != "" {
		// The first process never writes to the pipe, so the end of input means that it has
		// ended.
		_, _ = io.Copy(io.Discard, os.Stdin)
		sweep(prefix)
		os.Exit(0)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	guard := exec.Command(self)
	guard.Env = append(os.Environ(), guardEnv+"="+Prefix())
	// The guard runs in a session of its own, so that an interrupt from the terminal does not
	// reach it.
	guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if lifeline, err = guard.StdinPipe(); err != nil {
		return err
	}
	return guard.Start()
}

// During sweepPause, the last children of the ended process also end. For example, an "ip"
// process may still be creating a namespace.
const sweepPause = 200 * time.Millisecond

// sweep removes all namespaces, sockets and files whose names have the prefix.
func sweep(prefix string) {
	sweepOnce(prefix)
	time.Sleep(sweepPause)
	sweepOnce(prefix)
}

func sweepOnce(prefix string) {
	entries, _ := os.ReadDir(netnsDir)
	var boxes []*Namespace
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			boxes = append(boxes, &Namespace{Name: e.Name()})
		}
	}
	// The error is ignored, because no process is left to report it to.
	_ = removeAll(boxes)
	files, _ := filepath.Glob(filepath.Join(runDir, prefix+"*"))
	for _, f := range files {
		_ = os.Remove(f)
	}
	_ = os.RemoveAll(filepath.Join(os.TempDir(), prefix+"scratch"))
}
