package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A request to stop the daemon has two replies. The first one confirms the request. The second one
// follows when the interface is gone, and lists the faults of the tear-down. A daemon of an earlier
// version closes the connection after the first reply.

const (
	// exitPoll is the interval at which a client that waits for the daemon's end checks its context.
	exitPoll = 50 * time.Millisecond
	// lastWrite bounds the time in which the client of a second reply must take it.
	lastWrite = time.Second
	// mostFaults bounds the faults in a second reply.
	mostFaults = 20
)

// Down stops the daemon and waits until its process has exited, or ctx ends. It returns the faults
// of the tear-down, such as commands of the configuration that have failed.
func (c *Client) Down(ctx context.Context) (faults []string, err error) {
	if err := c.obeys(); err != nil {
		return nil, err
	}
	cred, err := peerCredentials(c.conn)
	if err != nil {
		return nil, err
	}
	// The pidfd is opened while the process is surely alive, because a later process may get the
	// same number.
	pidfd, err := unix.PidfdOpen(cred.pid, 0)
	if err != nil {
		pidfd = -1
	} else {
		defer unix.Close(pidfd)
	}
	if _, err := c.call(opDown); err != nil {
		return nil, err
	}
	if faults, err = c.faults(ctx); err != nil || pidfd < 0 {
		return faults, err // without a pidfd the daemon is in another pid namespace, so its end cannot be seen
	}
	return faults, waitExit(ctx, pidfd)
}

// faults waits for the second reply, and returns the faults in it.
func (c *Client) faults(ctx context.Context) ([]string, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.conn.CloseRead() }) // fails on a closed connection only
	defer stop()
	if until, ok := ctx.Deadline(); ok {
		c.signed.until, c.signed.patience = until, time.Until(until)
	}
	line, err := readLine(c.r, maxShortReply)
	switch {
	case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded):
		return nil, errStillEnding(ctx)
	case errors.Is(err, io.EOF), errors.Is(err, unix.ECONNRESET):
		return nil, nil // an earlier version, or it was killed
	case err != nil:
		return nil, fmt.Errorf("%s: %w", c.at, err)
	}
	r, err := c.parse(line)
	return r.Warnings, err
}

func errStillEnding(ctx context.Context) error {
	return fmt.Errorf("waiting for the daemon to end: %w", ctx.Err())
}

// waitExit waits for a process to exit, which makes its pidfd readable (pidfd_open(2)).
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
			return errStillEnding(ctx)
		}
	}
}

// lastReply returns a function that sends the second reply to the client of this connection. The
// connection itself ends before the tear-down, so the function writes to a duplicate of its
// descriptor.
func (c *place) lastReply() func(faults []string) {
	f, err := c.File()
	if err != nil {
		return func([]string) {}
	}
	return func(faults []string) {
		defer f.Close()
		// If the client has gone, nobody waits for the reply.
		if f.SetWriteDeadline(time.Now().Add(lastWrite)) == nil {
			_ = writeReply(f, reply{Done: true, Warnings: faults[:min(len(faults), mostFaults)]})
		}
	}
}
