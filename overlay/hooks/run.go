// Package hooks runs the commands of a configuration, in this process or in one of their
// own.
//
// A daemon that root has started gives up its rights before it carries packets. One of the
// rights is to execute a program with file capabilities beyond the daemon's own, such as
// ping. A command that the daemon starts could not regain these rights. So a second process
// runs the later commands. The daemon starts it first, and sends it only requests for these
// commands.
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
	// most bounds the time of a command. The service manager grants a stopping daemon 15 s.
	most = 10 * time.Second
	// outputMost bounds the kept part of a command's output, in bytes.
	outputMost = 4 << 10
)

// Command is a program with its arguments, its standard input and its environment. Ambient
// lists its ambient capabilities.
type Command struct {
	Argv    []string
	Stdin   string
	Env     []string
	Ambient []uintptr
}

// Run runs a program to its end, with the rights of this process. It returns the program's
// output in one line.
func Run(ctx context.Context, c Command) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	p := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	var out head
	p.Stdin, p.Stdout, p.Stderr, p.Env, p.Dir = strings.NewReader(c.Stdin), &out, &out, c.Env, "/"
	// The command has a process group of its own, so that its children also end when the
	// time is over.
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, AmbientCaps: c.Ambient}
	p.Cancel = func() error { return syscall.Kill(-p.Process.Pid, syscall.SIGKILL) }
	p.WaitDelay = time.Second
	err = p.Run()
	// Everybody with access to the socket sees it, and a program may repeat its words.
	said = keytext.Hide(strings.Join(strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' || r == '\r' }), "; "), nil)
	var exited *exec.ExitError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("%s does not end within %v", c.Argv[0], most)
	case err != nil && said != "":
		return "", fmt.Errorf("%s: %w: %s", c.Argv[0], err, said)
	case errors.As(err, &exited):
		return "", fmt.Errorf("%s: %w", c.Argv[0], err)
	case errors.Is(err, syscall.EPERM):
		return "", refused(p.Path, err)
	}
	return said, err
}

// head keeps the first bytes written to it.
type head struct{ bytes.Buffer }

func (t *head) Write(p []byte) (int, error) {
	if room := outputMost - t.Len(); room > 0 {
		t.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
