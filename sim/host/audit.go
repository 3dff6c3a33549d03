package host

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// Audit checks the invariants of a simulation. The first violated invariant ends the run.
type Audit struct {
	engine  *net.Engine
	err     error
	streams []*Stream
	tunnels []*Tunnel
	nonces  map[nonce]uint64
	keys    map[nonce]*key            // keys by host and receiver index, with slot 0
	taken   map[nonce]map[uint64]bool // packet numbers of the packets that were decrypted and accepted
	recent  map[path]*[recentKept]uint64
}

// key holds the age and use of a key with which a host sends.
type key struct {
	first   mono.Time // when the key was first used
	packets uint64
}

// nonce identifies a space of packet numbers: by the sending host, the receiver index of the other
// side, and the path slot.
type nonce struct {
	host  int
	index uint32
	slot  uint16
}

// path identifies a path slot of one direction, independent of the keys.
type path struct {
	from, to int
	slot     uint16
}

// recentKept is the number of recent packet numbers for which the audit stores whether they were
// used. An acknowledgement record covers 64 numbers below its highest number.
const recentKept = 128

// NewAudit returns an audit without streams.
func NewAudit(e *net.Engine) *Audit {
	return &Audit{engine: e, nonces: map[nonce]uint64{}, keys: map[nonce]*key{}, taken: map[nonce]map[uint64]bool{},
		recent: map[path]*[recentKept]uint64{}}
}

// Err returns the error of the first violated invariant, or nil.
func (a *Audit) Err() error { return a.err }

// Fail records a violated invariant, which ends the run.
func (a *Audit) Fail(format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf("at %.6f s: %w", a.engine.Since().Seconds(), fmt.Errorf(format, args...))
		a.engine.Say("BREACH %v", a.err)
	}
}

// Totals returns the numbers of messages and inner packets that were sent, delivered and
// expired.
func (a *Audit) Totals() (sent, delivered, expired int) {
	for _, x := range a.streams {
		sent += x.Pulled
		delivered += x.Delivered
		expired += x.Expired
	}
	for _, x := range a.tunnels {
		sent += x.Begun()
		delivered += x.Delivered
	}
	return sent, delivered, expired
}

// NewStream registers the stream from a process to a peer.
func (a *Audit) NewStream(from, to int, gen uint16, rng *rand.Rand) *Stream {
	s := &Stream{From: from, To: to, Gen: gen, audit: a, rng: rng}
	a.streams = append(a.streams, s)
	return s
}

// Arrived records a message that a connection between two hosts has delivered.
func (a *Audit) Arrived(from, at int, m *srd.Message) {
	host, gen := int(m.Imm[0]), binary.BigEndian.Uint16(m.Imm[1:])
	for i := len(a.streams) - 1; i >= 0; i-- {
		if s := a.streams[i]; s.From == host && s.To == at && s.Gen == gen && host == from {
			s.arrive(m)
			return
		}
	}
	a.Fail("host %d got a message as from %d that says host %d, process %d", at, from, host, gen)
}

// Sealed checks an outgoing packet to a host. The packet numbers of one key and slot must increase, so that
// no nonce is used twice. A key's age and its number of packets must stay within their bounds.
func (a *Audit) Sealed(host, to int, b []byte, c *Config) {
	index, ok := srd.DataIndex(b)
	if !ok {
		return
	}
	slot, pn := srd.DataNumber(b)
	k := nonce{host, index, slot}
	if last, met := a.nonces[k]; met && pn <= last {
		a.Fail("host %d seals index %08x slot %d number %d after %d", host, index, slot, pn, last)
	}
	a.nonces[k] = pn
	at := path{host, to, slot}
	if a.recent[at] == nil {
		a.recent[at] = new([recentKept]uint64)
	}
	a.recent[at][pn%recentKept] = pn + 1
	u := a.keys[nonce{host: host, index: index}]
	if u == nil {
		u = &key{first: a.engine.Now()}
		a.keys[nonce{host: host, index: index}] = u
	}
	u.packets++
	age, packets := cmp.Or(c.KeyLife, keyLife)*3/2, cmp.Or(c.KeyPackets, keyPackets)*2+srd.MaxTrain
	if old := a.engine.Now().Sub(u.first); old > age || u.packets > packets {
		a.Fail("host %d seals packet %d under keys %v old", host, u.packets, old)
	}
}

// Believed records that a host has accepted an acknowledgement of a number that it seems to have
// skipped. This is an error only if the host has really skipped it: to the other side, a lost
// packet looks the same.
func (a *Audit) Believed(host, by int, t net.Trap) {
	if t.Above == 0 {
		return
	}
	pn := t.Above - 1
	if r := a.recent[path{host, by, t.Slot}]; r != nil && r[pn%recentKept] == pn+1 {
		return
	}
	a.Fail("host %d believes an acknowledgement of packet %d of slot %d, which it has left out", host, pn, t.Slot)
}

// These constants are the age and the number of packets at which a host replaces its keys
// (docs/wire.md, "Keys"). Sealed allows one and a half times this age, and twice this number.
const (
	keyLife    = 120 * time.Second
	keyPackets = 1 << 27
)

// Taken checks a packet that a program has decrypted and accepted. A program must not accept a
// packet twice.
func (a *Audit) Taken(host int, index uint32, slot uint16, pn uint64) {
	k := nonce{host, index, slot}
	seen := a.taken[k]
	if seen == nil {
		seen = map[uint64]bool{}
		a.taken[k] = seen
	}
	if seen[pn] {
		a.Fail("host %d takes packet %d of slot %d, index %08x, again", host, pn, slot, index)
	}
	seen[pn] = true
}
