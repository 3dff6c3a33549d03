package loop

import (
	"crypto/rand"
	"encoding/binary"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/srdtun/srdtun/srd"
)

// table maps receiver indices to connections and keys, and connections to peers. The data path
// only reads the table. Handshakes write it.
type table struct {
	mu     sync.RWMutex
	prefix uint16 // upper half of all our indices
	index  map[uint32]entry
	peers  map[*srd.Conn]*Peer
	where  srd.AddressSet

	several atomic.Bool // peers has more than one entry
}

type entry struct {
	conn *srd.Conn
	keys *srd.RecvKeys // nil until the handshake is finished
	peer *Peer
}

func (t *table) init() {
	var b [2]byte
	rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	t.prefix = binary.BigEndian.Uint16(b[:])
	t.index = map[uint32]entry{}
	t.peers = map[*srd.Conn]*Peer{}
}

// Reserve implements srd.Indexes. The index is random, so that a packet of an old session does
// not match a new session. The upper half of the index is the table's prefix. By this prefix the
// kernel's filter distinguishes our packets from foreign ones.
func (t *table) Reserve(c *srd.Conn) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		var b [2]byte
		rand.Read(b[:])
		i := uint32(t.prefix)<<16 | uint32(binary.BigEndian.Uint16(b[:]))
		if _, taken := t.index[i]; !taken {
			t.index[i] = entry{conn: c, peer: t.peers[c]}
			return i
		}
	}
}

// Publish implements srd.Indexes.
func (t *table) Publish(i uint32, k *srd.RecvKeys) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.index[i]
	e.keys = k
	t.index[i] = e
}

// Release implements srd.Indexes.
func (t *table) Release(i uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.index, i)
}

// book is the part of the table with the addresses of peers. A Conn that reports an address of
// its peer locks the table, not the endpoint.
type book struct{ *table }

// Hold implements srd.Addresses.
func (b book) Hold(a netip.Addr) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.where.Hold(a)
}

// Release implements srd.Addresses.
func (b book) Release(a netip.Addr) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.where.Release(a)
}

// known reports whether some peer has the address a.
func (t *table) known(a netip.Addr) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.where.Has(a)
}

func (t *table) find(i uint32) entry {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.index[i]
}

func (t *table) conn(i uint32) *srd.Conn { return t.find(i).conn }

func (t *table) bind(c *srd.Conn, p *Peer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.peers[c] = p
	t.several.Store(len(t.peers) > 1)
}

func (t *table) unbind(c *srd.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.peers, c)
	t.several.Store(len(t.peers) > 1)
}

func (t *table) peer(c *srd.Conn) *Peer {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.peers[c]
}
