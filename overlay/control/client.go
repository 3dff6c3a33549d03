package control

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/srdtun/srdtun/internal/holder"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"golang.org/x/sys/unix"
)

var (
	// ErrNotRunning means that no running daemon has the interface's name.
	ErrNotRunning = errors.New("not running")
	// ErrPermission means that the daemon, or the mode of its socket, denies access to the caller.
	ErrPermission = errors.New("permission denied")
	// errEnded means that the connection ended without a reply.
	errEnded = errors.New("the connection ended during the request: the daemon has ended, or had no place left")
)

// Crowded reports whether a request failed because the daemon had no place for its connection, or
// gave the place to another one before the request came. The same request may pass later.
func Crowded(err error) bool { return errors.Is(err, errEnded) || errors.Is(err, errNoPlace) }

const (
	// clientTimeout bounds each wait for a part of the reply. The client's timeout is longer
	// than the server's, so a busy server still reports its own timeout.
	clientTimeout = 2 * connTimeout
	// replyTimeout bounds the time of a whole reply. Sixteen replies of 7 MB at once take 25 s on a
	// busy machine. A server that sends a byte now and then must not keep a command for ever.
	replyTimeout = 90 * time.Second
)

// changeTimeout bounds the time of a change of the configuration. A change of 65,536 prefixes
// takes 3 s on a quiet machine, and ten times as long on a busy one.
const changeTimeout = 30 * time.Second

// readAtOnce is the size of a client's read buffer. With a buffer of 64 KiB even a long reply
// needs few reads.
const readAtOnce = 64 << 10

// Client is a connection to one daemon, for a few requests in quick succession. The daemon
// closes the connection after some seconds. A Client is not safe for concurrent use.
type Client struct {
	at     rundir.Place
	conn   *net.UnixConn
	signed *signed
	r      *bufio.Reader // of signed
}

// Dial connects to the daemon at the given place. The error is ErrNotRunning, ErrPermission, the
// error of a system call, or names the process of a daemon whose socket is gone.
func Dial(at rundir.Place) (*Client, error) {
	path, err := at.Socket()
	if err != nil {
		return nil, err
	}
	conn, err := rundir.Dial(path, clientTimeout)
	for end := time.Now().Add(lostWait); missing(err) && rundir.Holder(path).PID != 0 && time.Now().Before(end); time.Sleep(lostPause) {
		conn, err = rundir.Dial(path, clientTimeout)
	}
	switch {
	case missing(err):
		return nil, lost(at, path, err)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("%s: %w (%s)", path, ErrPermission, admitted(path))
	case err != nil:
		return nil, err
	}
	c := &Client{at: at, conn: conn.(*net.UnixConn)}
	c.signed, err = newSigned(c.conn)
	if err := errors.Join(err, c.owned(), c.SetTimeout(replyTimeout)); err != nil {
		conn.Close()
		return nil, err
	}
	c.r = bufio.NewReaderSize(c.signed, readAtOnce)
	return c, nil
}

// missing reports whether no process listens on a socket.
func missing(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED)
}

// A daemon locks its name just before it listens, and unlocks it just after. So a locked name
// without a socket is a fault only if it stays for lostWait.
const (
	lostWait  = 500 * time.Millisecond
	lostPause = 20 * time.Millisecond
)

// lost returns the error for a socket on which no process listens, given the error of the attempt.
// If the socket was removed or replaced, a running daemon still holds its lock. If the lock was
// removed, too, it still holds its device. A daemon that is taken down closes its socket, but the
// name remains until the last command of post_down has ended.
func lost(at rundir.Place, path string, err error) error {
	switch p := rundir.Holder(path); {
	case p.PID != 0 && errors.Is(err, unix.ECONNREFUSED) && !rundir.Listens(p, path):
		return fmt.Errorf("%s is being taken down by %v", at, p)
	case p.PID != 0:
		end := fmt.Sprintf("kill %d", p.PID)
		if at.Service != "" {
			end = "systemctl stop srdtun@" + at.Service
		}
		return fmt.Errorf("%s runs in %v, but nothing listens at %s: the socket was moved or removed; put it back, or end the interface with %q", at, p, path, end)
	}
	if p := holder.OfDevice(at.Device); p.Name == program {
		return fmt.Errorf("%s is %w from %s: %v has the device, with another %s, or its files were removed; %q ends it", at, ErrNotRunning, rundir.Dir(), p, rundir.Env, fmt.Sprintf("kill %d", p.PID))
	}
	return fmt.Errorf("%s is %w", at, ErrNotRunning)
}

// program is the name of the daemon's process.
const program = "srdtun"

// SetTimeout sets the deadline of all requests of the client to d from now. Before it, a request
// fails when no part of its reply arrives for clientTimeout.
func (c *Client) SetTimeout(d time.Duration) error {
	c.signed.until = time.Now().Add(d)
	return c.conn.SetDeadline(c.signed.until)
}

// Close closes the client's connection.
func (c *Client) Close() error { return c.conn.Close() }

// Show requests the whole state of the interface.
func (c *Client) Show() (*Status, error) { return c.ShowPart(Part{}) }

// ShowPart requests a part of the state. An older daemon may also send peers outside that part.
func (c *Client) ShowPart(p Part) (*Status, error) {
	r, err := c.do(request{Op: opShow, Brief: p.Brief, Reached: p.Reached, Peer: p.Peer})
	if err != nil {
		return nil, err
	}
	r.Status.Interface = c.at.Device // an impostor may give the name of another interface
	return r.Status, nil
}

// Version requests the version of the running daemon.
func (c *Client) Version() (string, error) {
	r, err := c.call(opVersion)
	return r.Version, err
}

// Change changes the running configuration and returns the outcome. If Change returns an error,
// the configuration is unchanged. The error is ErrConfig if the requested change is invalid. A
// change that may contain a secret is sent only to a trusted process (see Trusted), in a file
// passed as a descriptor.
func (c *Client) Change(what Change) (Changed, error) {
	c.signed.patience = changeTimeout
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

// Restarting tells the daemon that the service manager will start it again after it exits.
func (c *Client) Restarting() error {
	if err := c.obeys(); err != nil {
		return err
	}
	_, err := c.call(opRestarting)
	return err
}

// Config returns the running configuration, with its secrets. Root may save the configuration as
// a file, so the client accepts it only from the daemon itself.
func (c *Client) Config() (string, error) {
	if err := c.obeys(); err != nil {
		return "", err
	}
	r, err := c.call(opConfig)
	return r.Config, err
}

func (c *Client) call(op string) (reply, error) { return c.do(request{Op: op}) }

func (c *Client) do(req request, fds ...int) (reply, error) {
	line, err := json.Marshal(req)
	if err != nil {
		return reply{}, err
	}
	// A daemon that refuses the caller replies and closes the connection without reading, so a
	// reply may follow a failed write.
	writeErr := c.write(append(line, '\n'), fds)
	line, err = readLine(c.r, req.replyBound())
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, unix.ECONNRESET), errors.Is(err, io.ErrUnexpectedEOF):
		return reply{}, fmt.Errorf("%s: %w", c.at, errEnded)
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
	case r.Error == errNoPlace.Error():
		return reply{}, &Refusal{fmt.Errorf("%s: %w", c.at, errNoPlace)}
	case r.Error != "":
		return reply{}, &Refusal{fmt.Errorf("%s: %s", c.at, r.Error)}
	}
	return r, nil
}

// Refusal is an error that the daemon sent as its reply. The daemon's error text does not quote
// any part of a request that may be a secret key.
type Refusal struct{ err error }

func (e *Refusal) Error() string { return e.err.Error() }
func (e *Refusal) Unwrap() error { return e.err }
