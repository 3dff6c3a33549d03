package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"time"

	"github.com/srdtun/srdtun/internal/pause"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"golang.org/x/sys/unix"
)

// Handler carries out the requests in the daemon. Several goroutines call the methods of a
// Handler at once.
type Handler interface {
	// Show returns the current state of the interface or the requested part of it. The second
	// result has the peers. The server sets the fields Schema, Version and Peers of the status.
	Show(Part) (Status, iter.Seq[Peer])
	// Change changes the running configuration, and returns the changed keys. If Change returns an
	// error, the configuration is unchanged. The server sends the text of the error to the client.
	Change(Change) (Changed, error)
	// Config returns the running configuration, with its secrets.
	Config() string
	// Restarting announces that another daemon will start as soon as this process has exited.
	Restarting()
	// Down begins to stop the daemon, and returns without waiting. When the interface is gone, the
	// handler calls the function ended() with the faults of the tear-down.
	Down(ended func(faults []string))
	Seer
}

// Part selects a part of the interface's state. The zero value selects the whole state. With a
// thousand peers the whole state is 2 MB of JSON, so a command requests only the part it needs.
type Part struct {
	Brief   bool   // without peers
	Reached bool   // with peers that have paths, ReachedMost at most
	Peer    string // with this peer alone: a name, a public key or an address inside the tunnel
}

// ReachedMost bounds the peers that Part.Reached selects, because the client requests a route
// from the kernel for each of their paths.
const ReachedMost = 64

// Server owns the name and the socket of an interface. The daemon creates the Server before it sets
// up the interface, and closes it after it has removed the interface. So no second daemon of that
// name can start in between.
type Server struct {
	lock     *lock
	listener *rundir.Listener
	masters  []uint32
	closed   error // why the group has no access; nil: it has access
	places   places
}

// Listen locks the name and opens the control socket, in place of a stale one. The error is
// ErrAlreadyRunning if a running daemon has the name. The masters are users other than root who
// may make all requests.
func Listen(name string, masters ...uint32) (*Server, error) {
	path, err := rundir.Path(name, rundir.Socket)
	if err != nil {
		return nil, err
	}
	if err := rundir.Make(); err != nil {
		return nil, err
	}
	l, err := takeLock(name)
	if err != nil {
		return nil, err
	}
	if served(path) {
		return nil, errors.Join(fmt.Errorf("%s is %w", name, ErrAlreadyRunning), l.release())
	}
	s := &Server{lock: l, masters: masters, places: places{taken: map[*place]struct{}{}}}
	var groups []uint32
	groups, s.closed = AdmittedGroups()
	s.listener, err = rundir.Listen(path, socketMode, groups...)
	if errors.Is(err, rundir.ErrGroups) {
		s.closed, err = err, nil
	}
	if err != nil {
		return nil, errors.Join(rundir.Explain(err), l.release())
	}
	return s, nil
}

// Closed returns an error if members of the group in GroupEnv cannot use the socket. The error
// is nil if GroupEnv names no group.
func (s *Server) Closed() error { return s.closed }

// OnGone sets a function. When a new connection replaces another one, the server calls the
// function with the user of the replaced connection. Call OnGone before Serve. The function given
// to OnGone must not block.
func (s *Server) OnGone(f func(uid uint32)) { s.places.gone = f }

// socketMode gives access to the daemon's user and the socket's group.
const socketMode = 0o660

// Serve replies to requests until ctx ends. When ctx ends, Serve closes every connection and
// returns nil. The interface's name remains locked until Close.
func (s *Server) Serve(ctx context.Context, h Handler) error {
	stop := context.AfterFunc(ctx, s.shut)
	defer stop()
	for {
		c, err := s.listener.AcceptUnix()
		if err != nil {
			if outOfResources(err) && pause.For(ctx, acceptPause) {
				continue
			}
			s.shut()
			s.places.wg.Wait()
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		s.admit(ctx, c, h)
	}
}

// errNoPlace is the reply to a connection that is refused because it can replace no other
// connection.
var errNoPlace = errors.New("too many requests at once; try again")

// admit serves a connection, or sends the caller the reason for the refusal.
func (s *Server) admit(ctx context.Context, c *net.UnixConn, h Handler) {
	n := &place{UnixConn: c, of: &s.places}
	ctx, n.stop = context.WithCancel(ctx)
	refused := s.judge(n)
	if err := c.SetDeadline(time.Now().Add(connTimeout)); err == nil && refused.Error == "" && s.places.take(n) {
		go serve(ctx, n, h)
		return
	}
	if refused.Error == "" {
		refused.Error = errNoPlace.Error()
	}
	writeReply(c, refused) // the reply fits into the socket's buffer, so this does not block
	n.stop()
	c.Close()
}

// judge identifies the caller. If the caller has no access, judge returns the reply that refuses
// it.
func (s *Server) judge(n *place) reply {
	g, err := s.guard()
	if err == nil {
		n.cred, err = peerCredentials(n.UnixConn)
	}
	if err == nil {
		n.master, err = g.master(n.cred), g.check(n.cred)
	}
	if err != nil {
		return reply{Error: err.Error(), Denied: true}
	}
	return reply{}
}

// acceptPause is the server's pause when no file descriptors are left, because accept(2) would fail
// again immediately.
const acceptPause = 100 * time.Millisecond

func outOfResources(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.ENOMEM)
}

// Close removes the socket and unlocks the name. Close may be called after Serve has returned,
// or without Serve.
func (s *Server) Close() error {
	s.shut()
	s.places.wg.Wait()
	return errors.Join(s.listener.Remove(), s.lock.release())
}

// shut closes the listener, and ends all connections. The method shut() may be called repeatedly.
func (s *Server) shut() {
	if s.places.end() {
		s.listener.Close()
	}
}

func serve(ctx context.Context, c *place, h Handler) {
	defer c.leave()
	var in io.Reader = c
	enclosed := &receiver{conn: c.UnixConn}
	defer enclosed.close()
	if c.master { // the server takes descriptors from masters only
		in = enclosed
	}
	r := bufio.NewReader(in)
	for {
		line, err := readLine(r, maxRequest)
		if errors.Is(err, errTooLong) {
			writeReply(c, reply{Error: fmt.Sprintf("request is longer than %d bytes", maxRequest)})
		}
		if err != nil {
			return
		}
		c.idleFrom(time.Time{})
		if !answer(ctx, c, h, line, enclosed) {
			return
		}
		c.idleFrom(time.Now())
	}
}

// answer handles one request, and reports whether the connection stays open.
func answer(ctx context.Context, c *place, h Handler, line []byte, enclosed *receiver) bool {
	req, err := parseRequest(line)
	if err != nil {
		writeReply(c, reply{Error: err.Error()})
		return false
	}
	if !c.master && req.mastersOnly() {
		writeReply(c, reply{Error: "only root may do that", Denied: true})
		return false
	}
	switch req.Op {
	case opShow:
		st, peers := h.Show(Part{Brief: req.Brief, Reached: req.Reached, Peer: req.Peer})
		return writeStatus(c, st, peers) == nil
	case opChange:
		return writeReply(c, change(h, req, enclosed)) == nil
	case opRestarting:
		h.Restarting()
		return writeReply(c, reply{Done: true}) == nil
	case opConfig:
		return writeReply(c, reply{Config: h.Config()}) == nil
	case opEvents:
		return writeReply(c, happened(h, req.After)) == nil
	case opFlows:
		return writeReply(c, flowsFor(ctx, h, req)) == nil
	case opPing:
		return writeReply(c, pingOf(ctx, h, req)) == nil
	case opVersion:
		return writeReply(c, reply{Version: Version}) == nil
	default: // opDown
		// The reply is sent before Down ends this process.
		writeReply(c, reply{Done: true})
		h.Down(c.lastReply())
		return false
	}
}

// change makes the change in a request, or in the file that was sent with the request.
func change(h Handler, req request, enclosed *receiver) reply {
	if req.Enclosed {
		file := enclosed.take()
		var err error
		if req.Change, err = disclose(file); file != nil {
			file.Close()
		}
		if err != nil {
			return reply{Error: err.Error()}
		}
	}
	changed, err := h.Change(*req.Change)
	if err != nil {
		return reply{Error: err.Error(), Bad: errors.Is(err, ErrConfig)}
	}
	return reply{Changed: changed.Differences, Warnings: changed.Warnings, Done: true}
}
