package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/overlay/events"
)

const (
	// hookMost is how long a command may take: less than the 15 s after which the service
	// manager ends a daemon that is to stop.
	hookMost = 10 * time.Second
	// hookOutput bounds what is kept of a command's output, in bytes.
	hookOutput = 4 << 10
)

// begin does what belongs to the start when packets are carried already: commands may
// want to use the tunnel. finish undoes it, also if it failed half way.
func (s *server) begin(ctx context.Context) error {
	s.awaitBindable(ctx)
	if err := s.useDNS(ctx); err != nil {
		return s.cfg().Fault("interface", "dns", "%w", err)
	}
	return s.runHooks(ctx, "post_up", s.cfg().Interface.Hooks.PostUp)
}

func (s *server) finish(ctx context.Context) error {
	return errors.Join(s.runHooks(ctx, "pre_down", s.cfg().Interface.Hooks.PreDown), s.leaveDNS(ctx))
}

// downHooks runs what belongs to the end, unless another process goes on with the
// interface.
func (s *server) downHooks(ctx context.Context) error {
	if s.kept {
		return nil
	}
	return s.runHooks(ctx, "post_down", s.cfg().Interface.Hooks.PostDown)
}

// runHooks runs commands one after the other, until one fails. %i in a word is the
// interface's name.
func (s *server) runHooks(ctx context.Context, key string, commands [][]string) error {
	for _, argv := range commands {
		words := make([]string, len(argv))
		for i, w := range argv {
			words[i] = strings.ReplaceAll(w, "%i", s.cfg().Interface.Name)
		}
		if err := s.command(ctx, "", words...); err != nil {
			return s.cfg().Fault("interface", key, "%v", err)
		}
	}
	return nil
}

// command runs a program to its end and logs what it says. It has the rights that this
// process has at that time, and of its environment the search path alone: what a service
// manager has handed over is not for it.
func (s *server) command(ctx context.Context, stdin string, argv ...string) error {
	ctx, cancel := context.WithTimeout(ctx, hookMost)
	defer cancel()
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out head
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &out
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "SRDTUN_INTERFACE=" + s.cfg().Interface.Name}
	c.Dir = "/"
	// A group of its own, so that all of it ends when its time is over.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, AmbientCaps: s.hookRights()}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	err := c.Run()
	said := strings.Join(strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	var exited *exec.ExitError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s does not end within %v", argv[0], hookMost)
	case err != nil && said != "":
		return fmt.Errorf("%s: %w: %s", argv[0], err, said)
	case errors.As(err, &exited):
		return fmt.Errorf("%s: %w", argv[0], err)
	case err != nil:
		return err
	case said != "":
		s.tell(events.Note, argv[0], "%s: %s", argv[0], said)
	}
	return nil
}

// hookRights are the capabilities that commands are given although this process is not
// root's: what changes the network, which is all that is left of its own.
func (s *server) hookRights() []uintptr {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if os.Geteuid() == 0 || unix.Capget(&header, &data[0]) != nil || data[0].Permitted&(1<<unix.CAP_NET_ADMIN) == 0 {
		return nil
	}
	return []uintptr{unix.CAP_NET_ADMIN}
}

// head keeps the first bytes of what is written to it.
type head struct{ bytes.Buffer }

func (t *head) Write(p []byte) (int, error) {
	if room := hookOutput - t.Len(); room > 0 {
		t.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
