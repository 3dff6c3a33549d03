package srd

import (
	"cmp"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// Life of keys (docs/design.md, "Sessions").
const (
	rekeyAfter   = 120 * time.Second
	rekeyPackets = 1 << 27 // of packetUnit bytes
	// packetUnit is the size of packet that RFC 9001, appendix B.1, reckons the limit of
	// 2^28 packets with, in bytes. A larger packet counts as several.
	packetUnit = 1 << 11
	// previousLife is how long packets under replaced keys are still taken.
	previousLife = 5 * time.Second
)

// keyLife is when keys are renewed, by the initiator or by the responder, and
// when they are not used any more. The responder renews later, so that one of the
// two does.
type keyLife struct {
	renew, renewResponse, reject time.Duration
	renewPackets, rejectPackets  uint64
}

// leastKeyLife is more than idleAfter: a handshake is heard from the peer, and
// would keep a connection busy that has nothing else to do.
const leastKeyLife = idleAfter + 2*time.Second

// keyLimits returns the age and the number of packets after which keys are renewed, as they
// count: leastKeyLife at least, and what the protocol has for 0.
func keyLimits(age time.Duration, packets uint64) (time.Duration, uint64) {
	return max(leastKeyLife, cmp.Or(age, rekeyAfter)), cmp.Or(packets, rekeyPackets)
}

// keyring is the keys that packets are sealed with, and all that still open them.
type keyring struct {
	*env
	self self

	send *epoch // what packets are sealed with; nil: no session
	prev *epoch // replaced, still opens
	next *epoch // ours as responder, not used before the initiator has
	// other was made before next, and the initiator has not used it either.
	other *epoch

	incarnation uint64 // the peer's
	met         bool   // incarnation is known
}

// count notes that a packet of so many bytes is sealed with the keys in use.
func (v *keyring) count(size int) {
	v.send.sent += (uint64(size) + packetUnit - 1) / packetUnit
}

// epoch is one set of keys.
type epoch struct {
	keys      *SendKeys
	recv      *RecvKeys
	created   mono.Time
	called    mono.Time // begun by us: when the initiation went out
	dies      mono.Time // set when replaced
	initiator bool
	heard     bool   // the peer has used them
	proven    bool   // begun by us: the peer was sent something to see that we have them
	crossed   bool   // made as responder, for an initiation that met ours on the way
	sent      uint64 // packets sealed with them, in packetUnits
	cipher    handshake.Cipher
	peer      uint64 // the peer's incarnation
	features  uint8  // the peer's
}

// life is what the configuration says of it.
func (v *keyring) life() keyLife {
	age, packets := v.cfg.KeyLife, v.cfg.KeyPackets
	return keyLife{
		renew: age, renewResponse: age * 5 / 4, reject: age * 3 / 2,
		renewPackets: packets, rejectPackets: 2 * packets,
	}
}

// ready reports whether there are keys to seal packets with.
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

// newEpoch makes keys of a finished handshake and publishes the receiving half.
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

// used notes that the peer uses k. Replaced keys live on for as long as it does.
func (v *keyring) used(now mono.Time, k *RecvKeys) {
	if v.send != nil && v.send.recv == k {
		v.send.heard = true
	}
	if e := v.prev; e != nil && e.recv == k {
		e.dies = max(e.dies, now.Add(previousLife))
	}
}

// retire ends an epoch: its index is free and its keys are forgotten.
func (v *keyring) retire(e **epoch) {
	if *e != nil {
		v.self.release((*e).recv.local)
		*e = nil
	}
}

// stranger reports whether a handshake waits to be confirmed that may turn out to
// be with another incarnation of the peer. The packet numbers of that one are not
// those seen so far.
func (v *keyring) stranger() bool {
	for _, e := range []*epoch{v.next, v.other} {
		if e != nil && v.met && e.peer != v.incarnation {
			return true
		}
	}
	return false
}
