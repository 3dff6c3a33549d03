// Package hooks runs the commands of a configuration, in this process or in one of their
// own.
//
// A daemon that root has started gives its rights up before it carries packets, among them
// the right to execute a program whose file has other capabilities than its own, as ping's
// has. What it has given up no command of its could have again. So those commands that run
// after that are run by a second process, which is started before and reads nothing but
// requests for them.
//
//	daemon                           second process (Serve)
//	Start: the commands    ------>   gives up what commands shall not have (privilege.Limit)
//	                       <------   ready
//	carries packets, confined
//	Run: the third of them ------>   executes it
//	                       <------   what it has said, how it ended
package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// most is how long a command may take: less than the 15 s after which the service
	// manager ends a daemon that is to stop.
	most = 10 * time.Second
	// outputMost bounds what is kept of a command's output, in bytes.
	outputMost = 4 << 10
)

// Command is a program with its words, what it reads, and its environment. Ambient are
// capabilities that it is given.
type Command struct {
	Argv    []string
	Stdin   string
	Env     []string
	Ambient []uintptr
}

// Run runs a program to its end, with the rights of this process, and returns what it says
// in one line.
func Run(ctx context.Context, c Command) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	p := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	var out head
	p.Stdin, p.Stdout, p.Stderr, p.Env, p.Dir = strings.NewReader(c.Stdin), &out, &out, c.Env, "/"
	// A group of its own, so that all of it ends when its time is over.
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, AmbientCaps: c.Ambient}
	p.Cancel = func() error { return syscall.Kill(-p.Process.Pid, syscall.SIGKILL) }
	p.WaitDelay = time.Second
	err = p.Run()
	said = strings.Join(strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
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

// head keeps the first bytes of what is written to it.
type head struct{ bytes.Buffer }

func (t *head) Write(p []byte) (int, error) {
	if room := outputMost - t.Len(); room > 0 {
		t.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
