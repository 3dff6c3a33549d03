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
)

// ErrUntrusted means that the client must not send a secret to the answering process.
var ErrUntrusted = errors.New("is not trusted")

// askWait bounds a question to the service manager.
const askWait = 5 * time.Second

// Service returns the instance of srdtun@ that owns the socket's directory, or "" for
// root's directory.
func (c *Client) Service() string { return c.at.Service }

// owned returns an error if the answering process cannot be the daemon. It must run as root, as the
// caller, or as the user of the service to which the socket's directory belongs. This holds for all
// commands: a false answer to "reload" or "show" misleads as well.
func (c *Client) owned() error {
	cred, err := peerCredentials(c.conn)
	if err != nil {
		return err
	}
	if cred.uid == 0 || int(cred.uid) == os.Geteuid() {
		return nil
	}
	if c.at.Service == "" {
		return fmt.Errorf("process %d of user %d, which answers for %s, %w: it is neither root's, nor yours, nor a service's; to ask it, be that user", cred.pid, cred.uid, c.at, ErrUntrusted)
	}
	owner, err := c.at.Owner()
	switch {
	case err != nil:
		return fmt.Errorf("process %d of user %d, which answers for %s, %w: %w", cred.pid, cred.uid, c.at, ErrUntrusted, err)
	case cred.uid != owner:
		return fmt.Errorf("process %d of user %d, which answers for %s, %w: the directory of its socket belongs to user %d", cred.pid, cred.uid, c.at, ErrUntrusted, owner)
	}
	return nil
}

// Trusted returns an error if the answering process must not learn a secret. Three processes may:
// one of root, one of the caller, and the main process of the service that owns the socket's
// directory. Any other process of that user, or another service, may have planted the socket.
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
	unit := "srdtun@" + c.Service() + ".service" // see owned
	pid, err := mainPID(unit)
	if err != nil {
		return fmt.Errorf("process %d of user %d, which answers for %s, %w: %w", cred.pid, cred.uid, c.at, ErrUntrusted, err)
	}
	if pid == 0 || pid != cred.pid {
		return fmt.Errorf("process %d of user %d, which answers for %s, %w: it is not the main process of %s", cred.pid, cred.uid, c.at, ErrUntrusted, unit)
	}
	return nil
}

// mainPID asks the service manager for the main process of a unit; 0: none.
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
