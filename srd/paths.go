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

// paths holds the ways to the peer, from a candidate to a forgotten path. It decides their
// states, which packets may go where, and how large packets may be.
type paths struct {
	*env
	keys   *keyring
	flight *flight
	choice *choice

	slots
	from    []*whence // sources of the peer's packets, by the peer's path slot
	probing steer.Set // paths with a probe planned
	fell    mono.Time // when the last of the silent paths fell silent; 0: none is silent
	dormant bool      // some silent paths are not probed while idle

	tuples   []Tuple   // where the peer may be reached: candidates for paths
	back     int       // index in tuples: from here on the peer is only called back
	opened   uint32    // paths opened so far
	openedAt mono.Time // when one was last challenged for the first time
	known    uint64    // messages sent and received before the peer's present process
	needs    uint64    // those since then, as far as they open paths
	wanting  bool      // some of tuples have no path: not needed yet, or no room
	changed  bool      // since the last Advance more paths are needed, or one was freed, went down or carries too little

	withdrawn  withdrawn
	candidates candidate.Table[Tuple]
	strayed    uint64    // packets sent to candidates: next packet number of candidateSlot
	askedAt    mono.Time // when quiet paths were last asked whether they work
	former     former

	replies []owed
	round   uint16    // of round trips, for the responses in each
	roundAt mono.Time // when it began

	measuring *measurement // nil: none is under way
}

// keepaliveSize is the smallest challenge: header, frame, tag.
const keepaliveSize = wire.Overhead + wire.SecretFrameLen

// owed is a response that we owe the peer: on a path of ours, or on a tuple without one.
type owed struct {
	path   *path // nil: there is none
	tuple  Tuple
	secret wire.Secret
	size   int
}

// measurement is the state of a measurement, under way or done.
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

// former holds the proven addresses of paths that were freed.
type former struct{ addrs []netip.AddrPort }

// provenMost bounds the addresses that former remembers and that Proven returns.
const provenMost = 16

// add notes a as the newest address.
func (f *former) add(a netip.AddrPort) {
	f.addrs = slices.DeleteFunc(f.addrs, func(b netip.AddrPort) bool { return a == b })
	f.addrs = slices.Insert(f.addrs, 0, a)
	f.addrs = f.addrs[:min(len(f.addrs), provenMost)]
}
