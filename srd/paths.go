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
	fell    mono.Time     // latest time at which one of the silent paths fell silent; 0: no path is silent
	dormant bool          // some silent paths are not probed, because there is no traffic

	tuples       []Tuple   // addresses at which the peer may be reachable: candidates for paths
	firstLearned int       // index in tuples: the tuples from here on are learned (SetTuples)
	opened       uint32    // paths opened so far
	openedAt     mono.Time // when a path was last challenged for the first time
	known        uint64    // messages sent and received before the peer's present process began
	needs        uint64    // paths needed for the messages since then, at most one for each tuple
	wanting      bool      // some of the tuples have no path: not needed yet, or no free slot
	changed      bool      // since the last Advance more paths are needed, or a path was freed, went down, or proved too small

	withdrawn   withdrawn
	trip        time.Duration // time until the response to the last answered challenge, an upper bound
	candidates  candidate.Table[Tuple]
	candidatePN uint64    // number of packets sent to candidates, and so the next packet number of candidateSlot
	askedAt     mono.Time // when quiet paths were last challenged (askQuiet)
	former      former

	replies []owed
	round   uint16    // number of the round trip, for the limit of responses (answersMost)
	roundAt mono.Time // when that round trip began

	measuring *measurement // nil: no measurement runs
}

// keepaliveSize is the UDP payload of the smallest challenge in bytes: header, frame and
// tag.
const keepaliveSize = wire.Overhead + wire.SecretFrameLen

// owed is a response to a challenge of the peer that is still to be sent, on a path or on a
// tuple without a path.
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
