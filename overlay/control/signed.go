package control

import (
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// signed reads from a connection, and records which process wrote the latest bytes. The kernel
// passes the writer's process number (unix(7), SO_PASSCRED). It never joins bytes of different
// processes in one read.
//
// Each read waits for the time in the field patience, but not beyond the deadline of the
// connection. So a busy daemon may take long for a long reply, as long as parts of it keep
// arriving.
type signed struct {
	conn     *net.UnixConn
	writer   int // 0: unknown
	patience time.Duration
	until    time.Time // deadline of the connection
}

func newSigned(conn *net.UnixConn) (*signed, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var inner error
	err = raw.Control(func(fd uintptr) { inner = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1) })
	if err == nil {
		err = inner
	}
	return &signed{conn: conn, patience: clientTimeout}, err
}

func (s *signed) Read(b []byte) (int, error) {
	next := time.Now().Add(s.patience)
	if s.until.Before(next) {
		next = s.until
	}
	if err := s.conn.SetReadDeadline(next); err != nil {
		return 0, err
	}
	oob := make([]byte, unix.CmsgSpace(unix.SizeofUcred)) // no room for descriptors
	n, o, _, _, err := s.conn.ReadMsgUnix(b, oob)
	if n > 0 {
		s.writer = writerIn(oob[:o])
	}
	if n == 0 && err == nil && len(b) > 0 {
		err = io.EOF
	}
	return max(n, 0), err
}

func writerIn(oob []byte) int {
	all, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return 0
	}
	for i := range all {
		if cred, err := unix.ParseUnixCredentials(&all[i]); err == nil {
			return int(cred.Pid)
		}
	}
	return 0
}
