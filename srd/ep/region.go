package ep

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/srdtun/srdtun/srd/handshake"
)

// Access says whether a peer may read or write a region.
type Access uint8

// AccessRead and AccessWrite can be combined.
const (
	AccessRead Access = 1 << iota
	AccessWrite
)

// errAccess means that the argument access gives the peer no right.
var errAccess = errors.New("ep: a region needs AccessRead, AccessWrite or both")

// Remote is a position in a peer's region.
type Remote struct {
	Key    uint64 // key of the region
	Offset uint64 // offset of the first byte in the region
}

// remoteLen is the length of a Remote on the wire.
const remoteLen = 16

func (r Remote) append(b []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, r.Key), r.Offset)
}

// remoteOf parses a Remote from at least remoteLen bytes.
func remoteOf(b []byte) Remote {
	return Remote{Key: binary.BigEndian.Uint64(b), Offset: binary.BigEndian.Uint64(b[8:])}
}

// Region is memory that one peer may access with Read or Write. A Region is safe for concurrent
// use.
type Region struct {
	of     *regions
	key    uint64
	peer   PublicKey
	access Access
	size   int

	mu  sync.Mutex // locked while bytes are copied from or to the memory
	buf []byte     // nil: closed
}

// Register lets one peer access buf. The peer needs the region's key, and the program must send
// the key to the peer. The key is a random number of 64 bits, so it cannot be guessed. Only this
// peer can use it. The errors of Register are ErrClosed, handshake.ErrSpelling, and an error for
// an invalid access.
//
// The peer's bytes arrive in any order and at any time. The program should read buf only after a
// completion (OpWritten), or after a message of the peer, has told it that the bytes are
// complete.
func (e *Endpoint) Register(peer PublicKey, buf []byte, access Access) (*Region, error) {
	if err := handshake.CheckPublic(handshake.PublicKey(peer)); err != nil {
		return nil, err
	}
	if access == 0 || access&^(AccessRead|AccessWrite) != 0 {
		return nil, errAccess
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	if buf == nil {
		buf = []byte{}
	}
	r := &Region{of: &e.regions, peer: peer, access: access, size: len(buf), buf: buf[:len(buf):len(buf)]}
	e.regions.add(r)
	return r, nil
}

// Remote returns the position in the region that a peer passes to Read and Write.
func (r *Region) Remote(offset int) Remote { return Remote{Key: r.key, Offset: uint64(offset)} }

// Len returns the number of bytes of the region.
func (r *Region) Len() int { return r.size }

// Close ends the peer's access to the region. After Close returns, the endpoint neither reads
// nor writes the memory and has no reference to it. Requests in progress end with
// StatusRemoteInvalid. Close always returns nil.
func (r *Region) Close() error {
	r.of.remove(r)
	r.mu.Lock()
	r.buf = nil // so a peer that does not complete its writes cannot keep the memory from being freed
	r.mu.Unlock()
	return nil
}

// put copies bytes into the region. If the region is closed, put() returns false. The caller has
// checked the bounds.
func (r *Region) put(at uint64, data []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.buf == nil {
		return false
	}
	copy(r.buf[at:], data)
	return true
}

// get copies bytes out of the region. If the region is closed, get() returns false. The caller
// has checked the bounds.
func (r *Region) get(at uint64, data []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.buf == nil {
		return false
	}
	copy(data, r.buf[at:])
	return true
}

// regions holds the regions of an endpoint by their keys. A regions value is safe for concurrent
// use. No other lock is taken while its lock is held.
type regions struct {
	mu sync.RWMutex
	of map[uint64]*Region
}

// add adds a region and gives it a random key.
func (rs *regions) add(r *Region) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.of == nil {
		rs.of = map[uint64]*Region{}
	}
	for r.key == 0 || rs.of[r.key] != nil {
		var random [8]byte
		rand.Read(random[:])
		r.key = binary.BigEndian.Uint64(random[:])
	}
	rs.of[r.key] = r
}

func (rs *regions) remove(r *Region) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.of[r.key] == r {
		delete(rs.of, r.key)
	}
}

// find returns the region in which the peer may access `size` bytes at a position, or nil.
func (rs *regions) find(peer PublicKey, at Remote, size int, access Access) *Region {
	rs.mu.RLock()
	r := rs.of[at.Key]
	rs.mu.RUnlock()
	if r == nil || r.peer != peer || r.access&access == 0 {
		return nil
	}
	if n := uint64(r.size); at.Offset > n || uint64(size) > n-at.Offset {
		return nil
	}
	return r
}
