package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrUntrusted means that the client must not send a secret to the process that replies.
var ErrUntrusted = errors.New("is not trusted")

const askWait = 5 * time.Second

// Device returns the name of the daemon's device.
func (c *Client) Device() string { return c.at.Device }

// Service returns the instance of srdtun@ that owns the socket's directory, or "" for
// root's directory.
func (c *Client) Service() string { return c.at.Service }

// owned returns an error if the process that replies cannot be the daemon. In root's directory the
// process must run as root or as the caller, and in a service's directory as the directory's owner.
// The directory's owner may have given another daemon's socket a second name there. All commands
// check the process, because a false reply to "reload" or "show" misleads the user.
func (c *Client) owned() error {
	cred, err := peerCredentials(c.conn)
	if err != nil {
		return err
	}
	own := cred.uid == 0 || int(cred.uid) == os.Geteuid()
	if c.at.Service == "" && own {
		return nil
	}
	if c.at.Service == "" {
		return fmt.Errorf("process %d of user %d, which answers for %s, %w: it is neither root's, nor yours, nor a service's; to ask it, be that user", cred.pid, cred.uid, c.at, ErrUntrusted)
	}
	owner, err := c.at.Owner()
	if err == nil && !own {
		err = c.at.Guarded()
	}
	switch {
	case err != nil:
		return fmt.Errorf("process %d of user %d, which answers for %s, %w: %w", cred.pid, cred.uid, c.at, ErrUntrusted, err)
	case cred.uid != owner:
		return fmt.Errorf("process %d of user %d, which answers for %s, %w: the directory of its socket belongs to user %d", cred.pid, cred.uid, c.at, ErrUntrusted, owner)
	}
	return nil
}

// Trusted returns an error if the process that replies must not receive a secret. Secrets may be
// sent to a process of root, to one of the caller, and to the main process of the service that
// owns the socket's directory. A process that only runs as the service's user, or another
// service, may have planted the socket.
func (c *Client) Trusted() error {
	cred, err := peerCredentials(c.conn)
	if err != nil {
		return err
	}
	if cred.uid == 0 || int(cred.uid) == os.Geteuid() {
		return nil
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("%s: %w: only root may do that", c.at, ErrPermission)
	}
	if err := c.isMainProcess(cred); err != nil {
		return fmt.Errorf("process %d of user %d, which answers for %s, %w: %w", cred.pid, cred.uid, c.at, ErrUntrusted, err)
	}
	return nil
}

// obeys returns an error if a command of root would reach a process other than the daemon, because
// that process could fake the command's effect. For commands of other users, the daemon checks the
// permission.
func (c *Client) obeys() error {
	if os.Geteuid() != 0 {
		return nil
	}
	return c.Trusted()
}

// isMainProcess returns an error unless the service's main process is at the other end. The kernel
// records the number of the process that called listen(2), but that process may have exited. So the
// main process must be alive, and must have written a reply itself.
func (c *Client) isMainProcess(listens credentials) error {
	unit := "srdtun@" + c.Service() + ".service" // see the method owned()
	pidfd, err := unix.PidfdOpen(listens.pid, 0)
	if err != nil {
		return os.NewSyscallError("pidfd_open", err)
	}
	defer unix.Close(pidfd)
	if _, err := c.Version(); err != nil {
		return err
	}
	if writer := c.signed.writer; writer != listens.pid {
		return fmt.Errorf("the answer comes from process %d", writer)
	}
	pid, err := mainPID(unit)
	switch {
	case err != nil:
		return err
	case pid == 0 || pid != listens.pid:
		return fmt.Errorf("it is not the main process of %s", unit)
	case ended(pidfd):
		return errors.New("it has ended")
	}
	return nil
}

// ended reports whether the process of a pidfd has exited (pidfd_open(2)).
func ended(pidfd int) bool {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return n > 0 || err != nil
}

// mainPID returns the main process of a unit from the service manager, or 0 if there is none.
func mainPID(unit string) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askWait)
	defer cancel()
	out, err := exec.CommandContext(ctx, "systemctl", "show", "--property=MainPID", "--value", "--", unit).Output()
	if err != nil {
		return 0, fmt.Errorf("systemctl show %s: %w", unit, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		return 0, fmt.Errorf("systemctl show %s: %w", unit, err)
	}
	return pid, nil
}
