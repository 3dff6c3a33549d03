package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// A client writes a change that contains a secret to an anonymous memory file, and passes its
// descriptor to the daemon. The request on the unix socket only announces the file.

var errNotEnclosed = errors.New("request is not understood: no file came with it")

// enclose writes a change to a new memory file.
func enclose(what Change) (*os.File, error) {
	text, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("srdtun-change", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "change")
	if _, err := f.Write(text); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func disclose(f *os.File) (*Change, error) {
	if f == nil {
		return nil, errNotEnclosed
	}
	// A read from a pipe or a device could block the daemon, so only regular files are accepted.
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxConfig {
		return nil, fmt.Errorf("the file of the request is missing, or has more than %d bytes", maxConfig)
	}
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxConfig))
	if err != nil {
		return nil, err
	}
	var c Change
	if err := strictly(text, &c); err != nil {
		return nil, err
	}
	return &c, nil
}

// receiver reads from a connection. If descriptors arrive with the data, it keeps the last one.
type receiver struct {
	conn *net.UnixConn
	file *os.File
}

func (r *receiver) Read(b []byte) (int, error) {
	oob := make([]byte, unix.CmsgSpace(4)) // room for one descriptor; the kernel closes others
	n, o, _, _, err := r.conn.ReadMsgUnix(b, oob)
	if o > 0 {
		r.keep(oob[:o])
	}
	if n == 0 && err == nil && len(b) > 0 {
		err = io.EOF
	}
	return max(n, 0), err // n is -1 if the client has closed before it read an answer
}

func (r *receiver) keep(oob []byte) {
	all, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return
	}
	for i := range all {
		fds, err := unix.ParseUnixRights(&all[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			r.close()
			r.file = os.NewFile(uintptr(fd), "change")
		}
	}
}

// take returns the received file, and the caller must close it.
func (r *receiver) take() *os.File {
	f := r.file
	r.file = nil
	return f
}

func (r *receiver) close() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
}
