package loop

import (
	"crypto/rand"
	"encoding/binary"
	"sync"

	"github.com/srdtun/srdtun/srd"
)

// table maps receiver indices to connections and keys, and connections to
// peers. Readers are on the data path, writers only at handshakes.
type table struct {
	mu    sync.RWMutex
	index map[uint32]entry
	peers map[*srd.Conn]*Peer
}

type entry struct {
	conn *srd.Conn
	keys *srd.RecvKeys // nil until the handshake is finished
	peer *Peer
}

func (t *table) init() {
	t.index = map[uint32]entry{}
	t.peers = map[*srd.Conn]*Peer{}
}

// Reserve implements srd.Indexes: a random index, so that a packet of an old
// session does not find a new one.
func (t *table) Reserve(c *srd.Conn) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		var b [4]byte
		rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
		i := binary.BigEndian.Uint32(b[:])
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
}

func (t *table) unbind(c *srd.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.peers, c)
}

func (t *table) peer(c *srd.Conn) *Peer {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.peers[c]
}
