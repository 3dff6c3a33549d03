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

// guardEnv makes a process a guard, and names its prefix.
const guardEnv = "SRDTUN_FABRIC_GUARD"

// runDir is where srdtun keeps the sockets and state files of its interfaces.
const runDir = "/run/srdtun"

// Prefix begins all names of this process: namespaces, tunnel interfaces (see TunnelName) and
// its scratch folder. It holds the process number, so simultaneous runs have different names.
func Prefix() string { return prefixOf(os.Getpid()) }

func prefixOf(pid int) string { return fmt.Sprintf("srd%d-", pid) }

// TunnelName is the name of a tunnel interface that Guard will remove. The suffix may have up
// to four letters, because an interface name has at most 15 bytes.
func TunnelName(suffix string) string { return Prefix() + suffix }

// Scratch is a private folder for keys, configurations and logs, removed by Guard.
func Scratch() (string, error) {
	dir := filepath.Join(os.TempDir(), Prefix()+"scratch")
	return dir, os.MkdirAll(dir, 0o700)
}

// lifeline is the pipe whose end tells the guard that this process has ended. Nothing closes it
// by hand, and no other child inherits it. A variable of the package keeps the garbage
// collector from closing it.
//
//lint:ignore U1000 that nothing reads it is the point
var lifeline io.WriteCloser

// Guard begins the main function of every program that builds fabrics. It starts a second
// process of the same program, which waits for the end of the first. That end may be a return,
// a panic, a signal or kill -9. The second process then removes the leftovers. There Guard does
// not return.
func Guard() error {
	if prefix := os.Getenv(guardEnv); prefix != "" {
		// Nothing is ever written, so the end of input is the end of the other process.
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
	// A session of its own: an interrupt from the terminal must not reach it.
	guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if lifeline, err = guard.StdinPipe(); err != nil {
		return err
	}
	return guard.Start()
}

// sweepPause lets the last children of the ended process end too. Such a child may be an ip
// that was about to make a namespace.
const sweepPause = 200 * time.Millisecond

// sweep removes everything whose name has the prefix.
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
	// No process is left to report an error to.
	_ = removeAll(boxes)
	files, _ := filepath.Glob(filepath.Join(runDir, prefix+"*"))
	for _, f := range files {
		_ = os.Remove(f)
	}
	_ = os.RemoveAll(filepath.Join(os.TempDir(), prefix+"scratch"))
}
