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

// paths holds the paths to the peer and the candidates for paths. The type decides the
// state of each path, its use and its packet size.
type paths struct {
	*env
	keys   *keyring
	flight *flight
	choice *choice

	slots
	from    []*slotSource // sources of the peer's packets, by the peer's path slot
	probing steer.Set     // paths with a probe planned
	fell    mono.Time     // when a path that is still silent last fell silent; 0: no path is silent
	dormant bool          // some silent paths are not probed while idle

	tuples       []Tuple   // addresses at which the peer may be reachable: candidates for paths
	firstLearned int       // index in tuples: tuples from here on are learned, and serve only for handshakes that this end begins
	opened       uint32    // paths opened so far
	openedAt     mono.Time // when a path was last challenged for the first time
	known        uint64    // messages sent and received before the peer's present process
	needs        uint64    // paths needed for the messages since then, at most one for each tuple
	wanting      bool      // some of tuples have no path: not needed yet, or no room
	changed      bool      // since the last Advance more paths are needed, or one was freed, went down or carries too little

	withdrawn   withdrawn
	candidates  candidate.Table[Tuple]
	candidatePN uint64    // number of packets sent to candidates: next packet number of candidateSlot
	askedAt     mono.Time // when quiet paths were last challenged (askQuiet)
	former      former

	replies []owed
	round   uint16    // number of the round trip, for the limit of responses (answersMost)
	roundAt mono.Time // when the round trip began

	measuring *measurement // nil: no measurement runs
}

// keepaliveSize is the size of the smallest challenge: header, frame and tag.
const keepaliveSize = wire.Overhead + wire.SecretFrameLen

// owed is a response that is due to the peer, on a path or on a tuple without a path.
type owed struct {
	path   *path // nil: the tuple has no path
	tuple  Tuple
	secret wire.Secret
	size   int
}

// measurement is the state of a running or finished measurement.
type measurement struct {
	probes []measured
}

type measured struct {
	path   *path
	tuple  Tuple
	slot   uint16
	secret wire.Secret
	at     mono.Time     // when the challenge was sent; 0: not sent
	rtt    time.Duration // 0: no response yet
}

// former holds the proven addresses of paths that were freed.
type former struct{ addrs []netip.AddrPort }

// provenMost bounds the number of addresses in former and in the result of Proven.
const provenMost = 16

// add puts the address `a` at the front, as the newest one.
func (f *former) add(a netip.AddrPort) {
	f.addrs = slices.DeleteFunc(f.addrs, func(b netip.AddrPort) bool { return a == b })
	f.addrs = slices.Insert(f.addrs, 0, a)
	f.addrs = f.addrs[:min(len(f.addrs), provenMost)]
}
