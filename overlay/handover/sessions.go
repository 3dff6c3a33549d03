package handover

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/srdtun/srdtun/overlay/control/rundir"
	"golang.org/x/sys/unix"
)

// Sessions are used by one process, once. Three things see to that, each by itself enough
// while the others hold:
//
//   - The process before has taken the keys out of its connections before it writes them.
//   - Who reads them must be the one that adds the seal F_SEAL_SEAL to their file. The
//     kernel lets that be done once, whoever has a descriptor of it; a process that dies
//     right after it has used them up. Then they are overwritten in the file itself.
//   - They are used when the service manager has confirmed that it has no descriptor of
//     them any more.
//
// The state has their digest, the boot that they are of, and when they were written.

const (
	// maxSessions bounds them in bytes: 4,096 peers with 63 paths and some hundred flows
	// each, or 200 with 256 paths, 4,096 flows each way, and 16,384 messages under way.
	maxSessions = 64 << 20
	// maxSession is more than any one of them takes: 257 spaces of packet numbers each
	// way of some 100 bytes, as many messages as may be unacknowledged of some 20, and the
	// numbers of flows.
	maxSession = 1 << 20
	// keptSeals keep the size of their file. They can still be overwritten.
	keptSeals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW
)

// Kept describes sessions that are passed on.
type Kept struct {
	BootID string `json:"boot_id"` // of the machine
	Clock  int64  `json:"clock"`   // of the process, when they were taken
	Boot   int64  `json:"boot"`    // and CLOCK_BOOTTIME, both in nanoseconds
	Prefix uint16 `json:"prefix"`  // of receiver indices
	Digest string `json:"sha256"`  // of their file
}

// Session is one of them.
type Session struct {
	Peer    [32]byte // public key
	Binding [32]byte // digest of what it holds for: keys of both ends
	Data    []byte
}

// sessionHead is the bytes of a session before its data: peer, binding, length.
const sessionHead = 32 + 32 + 4

// AppendSession appends s to b, unless that would be more than can be passed on.
func AppendSession(b []byte, s Session) (_ []byte, ok bool) {
	if len(s.Data) > maxSession || len(b)+sessionHead+len(s.Data) > maxSessions {
		return b, false
	}
	b = append(b, s.Peer[:]...)
	b = append(b, s.Binding[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(s.Data)))
	return append(b, s.Data...), true
}

var errSessions = errors.New("the sessions are damaged")

// ParseSessions reads what AppendSession wrote. The data are parts of b.
func ParseSessions(b []byte) (v []Session, err error) {
	for len(b) > 0 {
		if len(b) < sessionHead {
			return nil, errSessions
		}
		n := int(binary.BigEndian.Uint32(b[64:]))
		if n > maxSession || n > len(b)-sessionHead {
			return nil, errSessions
		}
		v = append(v, Session{[32]byte(b), [32]byte(b[32:]), b[sessionHead : sessionHead+n]})
		b = b[sessionHead+n:]
	}
	return v, nil
}

// keep writes the sessions of b into a file, and notes in the state what belongs to it.
func (b *Bundle) keep() (fd int, err error) {
	sum := sha256.Sum256(b.Sessions)
	b.State.Kept.Digest = hex.EncodeToString(sum[:])
	return memoryFile("srdtun-sessions", b.Sessions, keptSeals)
}

// claim makes this process the only one that may use the sessions in a file.
func claim(fd int) error {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SEAL); err != nil {
		return fmt.Errorf("another process has taken the sessions: %w", err)
	}
	return nil
}

// scrub makes sessions useless, whoever has a descriptor of them.
func scrub(fd int) {
	_ = claim(fd) // or somebody else has
	overwrite(fd)
}

// overwrite fills a file with zeros.
func overwrite(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	zero := make([]byte, 1<<16)
	for at := int64(0); at < st.Size; {
		n, err := unix.Pwrite(fd, zero[:min(int64(len(zero)), st.Size-at)], at)
		if err != nil || n == 0 {
			return errors.Join(err, errSessions)
		}
		at += int64(n)
	}
	return nil
}

// takeSessions returns what is in the file of the sessions that k describes, and overwrites
// it there. It is of no use to anybody else after that, whatever is returned.
func takeSessions(fd int, k *Kept) (data []byte, err error) {
	if err := claim(fd); err != nil {
		return nil, err
	}
	data, err = readSessions(fd)
	// What cannot be overwritten may be read by others: it is not to be used.
	if err = errors.Join(err, overwrite(fd)); err != nil {
		clear(data)
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != k.Digest {
		clear(data)
		return nil, errSessions
	}
	return data, nil
}

func readSessions(fd int) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Size > maxSessions {
		return nil, fmt.Errorf("the sessions have %d bytes, more than %d", st.Size, maxSessions)
	}
	data := make([]byte, st.Size)
	for at := 0; at < len(data); {
		n, err := unix.Pread(fd, data[at:], int64(at))
		if err != nil || n == 0 {
			clear(data)
			return nil, errors.Join(err, errSessions)
		}
		at += n
	}
	return data, nil
}

// parts are what the name of the state stands for in the store. All have one name, so that a
// program that knows of no sessions removes them as well; it then makes all anew.
type parts struct{ state, sessions, machine []int }

// partsOf tells them apart by what they are.
func partsOf(fds []int) (p parts) {
	for _, fd := range fds {
		got, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
		switch {
		case err != nil:
			p.machine = append(p.machine, fd)
		case got&unix.F_SEAL_WRITE == 0:
			p.sessions = append(p.sessions, fd)
		default:
			p.state = append(p.state, fd)
		}
	}
	return p
}

// inherit takes the sessions that belong to the state of b, or says why not. It owns the
// descriptors.
func (b *Bundle) inherit(p parts) {
	defer func() {
		for _, fd := range p.sessions {
			scrub(fd)
			unix.Close(fd)
		}
	}()
	b.Machine = p.machine
	k := b.State.Kept
	switch {
	case k == nil:
	case len(p.sessions) != 1 || len(p.machine) != 1:
		b.Without = fmt.Sprintf("%d files of them and %d sockets came along", len(p.sessions), len(p.machine))
	case k.BootID == "" || k.BootID != rundir.Boot():
		b.Without = "they are of another run of this machine"
	default:
		data, err := takeSessions(p.sessions[0], k)
		if err != nil {
			b.Without = err.Error()
		}
		b.Sessions = data
	}
}
