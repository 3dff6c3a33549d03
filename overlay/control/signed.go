package control

import (
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// signed reads from a connection, and records which process wrote the latest bytes. The kernel
// passes the writer's number (unix(7), SO_PASSCRED), and never joins bytes of different
// processes in one read.
type signed struct {
	conn   *net.UnixConn
	writer int // 0: unknown
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
	return &signed{conn: conn}, err
}

func (s *signed) Read(b []byte) (int, error) {
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
