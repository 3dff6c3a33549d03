package srd

import (
	"net/netip"
	"slices"
	"time"

	"github.com/srdtun/srdtun/srd/internal/candidate"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// paths are the ways to the peer, from a candidate to one that is forgotten: their life,
// what may be sent where, and how large packets may be.
type paths struct {
	*env
	keys   *keyring
	flight *flight
	choice *choice

	slots
	from    []*whence // what the peer's path slots come from
	probing steer.Set // paths with a probe planned
	fell    mono.Time // when the last of the paths that are silent now fell so; 0: none is
	dormant bool      // some silent paths are not probed while idle

	tuples   []Tuple   // where the peer may be reached: candidates for paths
	back     int       // of these, from which on it is only called back
	opened   uint32    // paths opened so far
	openedAt mono.Time // when one was last challenged for the first time
	known    uint64    // messages sent and received before the peer's process was met
	needs    uint64    // those since then, as far as they matter
	wanting  bool      // some of tuples have no path, for want of need or of room
	changed  bool      // since the last Advance more are needed, or one has gone, is down or carries too little

	withdrawn  withdrawn
	candidates candidate.Table[Tuple]
	strayed    uint64    // packets sent to candidates: the next packet number of their slot
	askedAt    mono.Time // when quiet paths were last asked whether they work
	former     former

	replies []owed
	round   uint16    // of round trips, for the responses in each
	roundAt mono.Time // when it began

	measuring *measurement // nil: nobody wants to know
}

// keepaliveSize is the smallest challenge: header, frame, tag.
const keepaliveSize = wire.Overhead + wire.SecretFrameLen

// owed is a path response that is owed: on a path of ours, or to where there is none.
type owed struct {
	path   *path // nil: there is none
	tuple  Tuple
	secret wire.Secret
	size   int
}

// measurement is one that is under way or done.
type measurement struct {
	probes []measured
}

type measured struct {
	path   *path
	tuple  Tuple
	slot   uint16
	secret wire.Secret
	at     mono.Time     // sent; 0: not
	rtt    time.Duration // 0: not answered
}

// former is where the peer has proven to be, on paths that are gone.
type former struct{ addrs []netip.AddrPort }

// provenMost bounds the addresses that Proven returns, and that are remembered.
const provenMost = 16

// add notes a, as the newest.
func (f *former) add(a netip.AddrPort) {
	f.addrs = slices.DeleteFunc(f.addrs, func(b netip.AddrPort) bool { return a == b })
	f.addrs = slices.Insert(f.addrs, 0, a)
	f.addrs = f.addrs[:min(len(f.addrs), provenMost)]
}
