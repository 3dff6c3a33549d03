package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/srdtun/srdtun/overlay/control/rundir"
	"golang.org/x/sys/unix"
)

var (
	// ErrNotRunning means that no live daemon has the interface's name.
	ErrNotRunning = errors.New("not running")
	// ErrPermission means that the daemon, or the mode of its socket, refuses the
	// caller.
	ErrPermission = errors.New("permission denied")
)

// clientTimeout bounds a client's connection. It is above the server's limit, so a busy
// server answers first.
const clientTimeout = 2 * connTimeout

// changeTimeout bounds a change. One of 65,536 prefixes takes 3 s on a quiet machine, and ten
// times as long on a busy one.
const changeTimeout = 30 * time.Second

// readAtOnce is the size of a client's buffer. Few parts make up even a long reply.
const readAtOnce = 64 << 10

// exitPoll is the interval at which a wait for the daemon's end checks its context.
const exitPoll = 50 * time.Millisecond

// Client is a connection to one daemon, for a few requests in quick succession. The daemon
// ends it after some seconds. It is not safe for concurrent use.
type Client struct {
	at     rundir.Place
	conn   *net.UnixConn
	signed *signed
	r      *bufio.Reader // of signed
}

// Dial connects to the daemon at a place. The error is ErrNotRunning or ErrPermission, or
// names another fault.
func Dial(at rundir.Place) (*Client, error) {
	path, err := at.Socket()
	if err != nil {
		return nil, err
	}
	conn, err := rundir.Dial(path, clientTimeout)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ECONNREFUSED):
		return nil, fmt.Errorf("%s is %w", at, ErrNotRunning)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("%s: %w (%s)", path, ErrPermission, admitted(path))
	case err != nil:
		return nil, err
	}
	c := &Client{at: at, conn: conn.(*net.UnixConn)}
	c.signed, err = newSigned(c.conn)
	if err := errors.Join(err, c.owned(), c.SetTimeout(clientTimeout)); err != nil {
		conn.Close()
		return nil, err
	}
	c.r = bufio.NewReaderSize(c.signed, readAtOnce)
	return c, nil
}

// SetTimeout makes all requests of the client fail after the time d.
func (c *Client) SetTimeout(d time.Duration) error { return c.conn.SetDeadline(time.Now().Add(d)) }

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Show asks for the whole state of the interface.
func (c *Client) Show() (*Status, error) { return c.ShowPart(Part{}) }

// ShowPart asks for a part of the state. An older daemon may send other peers, too.
func (c *Client) ShowPart(p Part) (*Status, error) {
	r, err := c.do(request{Op: opShow, Brief: p.Brief, Reached: p.Reached, Peer: p.Peer})
	if err != nil {
		return nil, err
	}
	r.Status.Interface = c.at.Device // an impostor may give the name of another interface
	return r.Status, nil
}

// Version asks for the version of the running daemon.
func (c *Client) Version() (string, error) {
	r, err := c.call(opVersion)
	return r.Version, err
}

// Change changes the running configuration and returns the outcome. After an error
// nothing has changed. ErrConfig means that the requested change is wrong. A change that may
// have a secret goes only to a trusted process (see Trusted), and goes as a descriptor.
func (c *Client) Change(what Change) (Changed, error) {
	if err := c.SetTimeout(changeTimeout); err != nil {
		return Changed{}, err
	}
	if !what.secret() {
		if err := c.obeys(); err != nil {
			return Changed{}, err
		}
		r, err := c.do(request{Op: opChange, Change: &what})
		return r.outcome(), err
	}
	if err := c.Trusted(); err != nil {
		return Changed{}, err
	}
	file, err := enclose(what)
	if err != nil {
		return Changed{}, err
	}
	defer file.Close()
	r, err := c.do(request{Op: opChange, Enclosed: true}, int(file.Fd()))
	return r.outcome(), err
}

func (r *reply) outcome() Changed { return Changed{r.Changed, r.Warnings} }

// Restarting tells the daemon that the service manager will start it again at its end.
func (c *Client) Restarting() error {
	if err := c.obeys(); err != nil {
		return err
	}
	_, err := c.call(opRestarting)
	return err
}

// Config returns the running configuration, with its secrets. Root may take it for a file of its own,
// so it must not come from another process.
func (c *Client) Config() (string, error) {
	if err := c.obeys(); err != nil {
		return "", err
	}
	r, err := c.call(opConfig)
	return r.Config, err
}

// Down ends the daemon and waits until its process is gone, or ctx ends.
func (c *Client) Down(ctx context.Context) error {
	if err := c.obeys(); err != nil {
		return err
	}
	cred, err := peerCredentials(c.conn)
	if err != nil {
		return err
	}
	// Take the handle while the process is surely alive: a later process may get the
	// same number.
	pidfd, err := unix.PidfdOpen(cred.pid, 0)
	if err != nil {
		pidfd = -1
	} else {
		defer unix.Close(pidfd)
	}
	if _, err := c.call(opDown); err != nil {
		return err
	}
	if pidfd < 0 {
		return nil // the daemon is in another pid namespace, so its end cannot be seen
	}
	return waitExit(ctx, pidfd)
}

// waitExit waits for the end of a process: then its pidfd becomes readable,
// pidfd_open(2).
func waitExit(ctx context.Context, pidfd int) error {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, int(exitPoll/time.Millisecond))
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return os.NewSyscallError("poll", err)
		case n > 0:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("waiting for the daemon to end: %w", ctx.Err())
		}
	}
}

func (c *Client) call(op string) (reply, error) { return c.do(request{Op: op}) }

// do sends a request, with descriptors, and returns the reply.
func (c *Client) do(req request, fds ...int) (reply, error) {
	line, err := json.Marshal(req)
	if err != nil {
		return reply{}, err
	}
	// A daemon that refuses the caller answers and closes without reading. So there may
	// be a reply even after a failed write.
	writeErr := c.write(append(line, '\n'), fds)
	line, err = readLine(c.r, req.replyBound())
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, unix.ECONNRESET), errors.Is(err, io.ErrUnexpectedEOF):
		return reply{}, fmt.Errorf("%s: the connection ended during the request: the daemon has ended, or had no place left", c.at)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return reply{}, fmt.Errorf("%s does not answer", c.at)
	case errors.Is(err, errTooLong):
		return reply{}, fmt.Errorf("%s: the reply is longer than %d bytes, which no daemon sends", c.at, req.replyBound())
	case err != nil:
		return reply{}, fmt.Errorf("%s: %w", c.at, errors.Join(err, writeErr))
	}
	r, err := c.parse(line)
	if err == nil && !r.answers(req.Op) {
		return reply{}, fmt.Errorf("%s: the reply lacks the requested part (%s)", c.at, req.Op)
	}
	return r, err
}

func (c *Client) write(line []byte, fds []int) error {
	if len(fds) == 0 {
		_, err := c.conn.Write(line)
		return err
	}
	n, _, err := c.conn.WriteMsgUnix(line, unix.UnixRights(fds...), nil)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	return err
}

func (c *Client) parse(line []byte) (reply, error) {
	r, err := parseReply(line)
	if err != nil {
		return reply{}, fmt.Errorf("%s: reply is not understood: %w", c.at, err)
	}
	switch {
	case r.Denied:
		return reply{}, &Refusal{fmt.Errorf("%s: %w: %s", c.at, ErrPermission, r.Error)}
	case r.Bad:
		return reply{}, &Refusal{fmt.Errorf("%s: %w%s", c.at, ErrConfig, r.Error)}
	case r.Error != "":
		return reply{}, &Refusal{fmt.Errorf("%s: %s", c.at, r.Error)}
	}
	return r, nil
}

// Refusal is the daemon's own error. Its words are the daemon's: it repeats no word of a request
// that may be a secret key.
type Refusal struct{ err error }

func (e *Refusal) Error() string { return e.err.Error() }
func (e *Refusal) Unwrap() error { return e.err }
