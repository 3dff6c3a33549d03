package srd

import (
	"cmp"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// The following constants limit the use of keys (docs/wire.md, "Keys").
const (
	rekeyAfter   = 120 * time.Second
	rekeyPackets = 1 << 27 // in units of packetUnit bytes
	// packetUnit is the packet size in bytes for which RFC 9001, appendix B.1, computes
	// the limit of 2^28 packets. A larger packet counts as several packets.
	packetUnit = 1 << 11
	// previousLife is the time for which packets under replaced keys are still accepted.
	previousLife = 5 * time.Second
)

// keyLife holds the ages and packet counts at which keys are renewed and at which they
// expire. The responder renews at a greater age than the initiator, so that only one end
// begins a handshake.
type keyLife struct {
	renew, renewResponse, reject time.Duration
	renewPackets, rejectPackets  uint64
}

// leastKeyLife is longer than idleAfter. A handshake counts as traffic from the peer, so
// with a shorter life each renewal would cause the next one on an idle connection.
const leastKeyLife = idleAfter + 2*time.Second

// keyLimits returns the age and the number of packets after which keys are renewed. The
// age is at least leastKeyLife. An argument of 0 selects the protocol's limit.
func keyLimits(age time.Duration, packets uint64) (time.Duration, uint64) {
	return max(leastKeyLife, cmp.Or(age, rekeyAfter)), cmp.Or(packets, rekeyPackets)
}

// keyring holds the keys that seal packets, and all keys that still open packets.
type keyring struct {
	*env
	self self

	send *epoch // seals packets; nil: no session
	prev *epoch // replaced, still opens packets
	next *epoch // made as responder; not used for sending before the initiator uses it
	// The epoch `other` was also made as responder, before `next`. The initiator has used
	// neither of the two yet.
	other *epoch

	incarnation uint64 // the peer's
	met         bool   // the incarnation is known
}

// count counts a packet of `size` bytes towards the packet limit of the keys in use.
func (v *keyring) count(size int) {
	v.send.sent += (uint64(size) + packetUnit - 1) / packetUnit
}

// epoch is one set of keys.
type epoch struct {
	keys      *SendKeys
	recv      *RecvKeys
	created   mono.Time
	called    mono.Time // if this end is the initiator: when the initiation was sent
	dies      mono.Time // when replaced keys expire; 0: not replaced
	initiator bool
	heard     bool   // the peer has used them
	proven    bool   // if this end is the initiator: a packet under the keys was sent to the peer
	crossed   bool   // made as responder for an initiation that crossed ours in the network
	sent      uint64 // packets that the keys have sealed, in units of packetUnit bytes
	cipher    handshake.Cipher
	peer      uint64 // the peer's incarnation
	features  uint8  // the peer's
}

// life returns the configured life of keys.
func (v *keyring) life() keyLife {
	age, packets := v.cfg.KeyLife, v.cfg.KeyPackets
	return keyLife{
		renew: age, renewResponse: age * 5 / 4, reject: age * 3 / 2,
		renewPackets: packets, rejectPackets: 2 * packets,
	}
}

// ready reports whether valid keys exist for sealing packets.
func (v *keyring) ready(now mono.Time) bool {
	life := v.life()
	return v.send != nil && now.Sub(v.send.created) < life.reject && v.send.sent < life.rejectPackets
}

// accepts reports whether k may still open packets.
func (v *keyring) accepts(now mono.Time, k *RecvKeys) bool {
	for _, e := range []*epoch{v.send, v.next, v.prev, v.other} {
		if e != nil && e.recv == k {
			return now.Sub(e.created) < v.life().reject && (e.dies == 0 || now < e.dies)
		}
	}
	return false
}

// newEpoch makes the keys of a finished handshake, and publishes those that open packets.
func (v *keyring) newEpoch(now mono.Time, r *handshake.Result, initiator bool) *epoch {
	seal, err1 := r.Cipher.New(r.Send.Key)
	open, err2 := r.Cipher.New(r.Recv.Key)
	if err1 != nil || err2 != nil {
		v.self.release(r.LocalIndex)
		v.drop(DropHandshakeBad)
		return nil
	}
	e := &epoch{
		keys:      &SendKeys{aead: seal, iv: r.Send.IV, remote: r.RemoteIndex},
		recv:      &RecvKeys{Conn: v.self.conn, aead: open, iv: r.Recv.IV, local: r.LocalIndex},
		created:   now,
		initiator: initiator,
		cipher:    r.Cipher,
		peer:      r.Hello.Incarnation,
		features:  r.Hello.Features,
	}
	v.self.publish(e.recv)
	v.stats.Handshakes++
	return e
}

// used must be called for each packet under keys k. Replaced keys stay valid while the
// peer uses them.
func (v *keyring) used(now mono.Time, k *RecvKeys) {
	if v.send != nil && v.send.recv == k {
		v.send.heard = true
	}
	if e := v.prev; e != nil && e.recv == k {
		e.dies = max(e.dies, now.Add(previousLife))
	}
}

// retire ends an epoch: the epoch's index is released, and its keys are deleted.
func (v *keyring) retire(e **epoch) {
	if *e != nil {
		v.self.release((*e).recv.local)
		*e = nil
	}
}

// stranger reports whether an unconfirmed handshake may be with another incarnation of the
// peer, whose packet numbers begin at 0.
func (v *keyring) stranger() bool {
	for _, e := range []*epoch{v.next, v.other} {
		if e != nil && v.met && e.peer != v.incarnation {
			return true
		}
	}
	return false
}
