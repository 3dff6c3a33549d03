// Package hooks runs the commands of a configuration, in the daemon or in a second process.
//
// A daemon that root has started gives up privileges before it carries packets, and then cannot
// execute programs with more capabilities, such as ping. A second process, which keeps more
// privileges, runs the commands from then on. The daemon starts this process before it gives up
// privileges, with the list of commands. Later it can only ask it to run one of these commands.
//
//	daemon                           second process (Serve)
//	Start: the commands    ------>   gives up what commands shall not have (privilege.Limit)
//	                       <------   ready
//	carries packets, confined
//	Run: the third of them ------>   executes it
//	                       <------   its output, its exit status
package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"github.com/srdtun/srdtun/internal/keytext"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// most bounds the duration of a command. The service manager gives a daemon 15 s to stop.
	most = 10 * time.Second
	// outputMost is the number of bytes that are kept of a command's output.
	outputMost = 4 << 10
)

// outputKept is the remark on a command that leaves a child in the background with its output open.
const outputKept = "it has left a process in the background, whose further output is lost: redirect it, as in \"sleep 60 >/dev/null 2>&1 &\""

// Command is a program with its arguments, its standard input and its environment. Ambient lists
// the program's ambient capabilities.
type Command struct {
	Argv    []string
	Stdin   string
	Env     []string
	Ambient []uintptr
}

// Run runs a program to its end, with the privileges of this process. Run returns the program's
// output as one line.
func Run(ctx context.Context, c Command) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	p := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	var out head
	p.Stdin, p.Stdout, p.Stderr, p.Env, p.Dir = strings.NewReader(c.Stdin), &out, &out, c.Env, "/"
	// The command has its own process group, so that its children are killed with it after a
	// timeout.
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, AmbientCaps: c.Ambient}
	p.Cancel = func() error { return syscall.Kill(-p.Process.Pid, syscall.SIGKILL) }
	p.WaitDelay = time.Second
	err = p.Run()
	// All users of the control socket can read the output, and a program may print keys from its
	// arguments.
	said = keytext.Hide(strings.Join(strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' || r == '\r' }), "; "), nil)
	var exited *exec.ExitError
	if errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		// The command has ended with status 0. A child that it left in the background has its output
		// open, so that there is no end of the output to wait for.
		said, err = strings.TrimPrefix(said+"; "+outputKept, "; "), nil
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("%s does not end within %v", c.Argv[0], most)
	case err != nil && said != "":
		return "", fmt.Errorf("%s: %w: %s", c.Argv[0], err, said)
	case errors.As(err, &exited):
		return "", fmt.Errorf("%s: %w", c.Argv[0], err)
	case errors.Is(err, syscall.EPERM):
		return "", refused(p.Path, err)
	case err != nil:
		return "", notExecuted(p.Path, err)
	}
	return said, err
}

// head is a buffer that keeps only the first bytes written to it.
type head struct{ bytes.Buffer }

func (t *head) Write(p []byte) (int, error) {
	if room := outputMost - t.Len(); room > 0 {
		t.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
