package srd

import (
	"net/netip"
	"slices"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// session is the handshakes of a connection, and the keys that they make.
type session struct {
	keyring
	paths    *paths
	recovery *recovery

	held    holding // addresses that the peer has a share reserved for
	calls   calls
	callAt  mono.Time // when to call again though there is nothing to send; 0: not planned
	stamper *handshake.Stamper
	replay  handshake.Replay
	out     []rawPacket
	last    response
	liar    liar
	foreign foreign
	since   mono.Time // of the newest handshake; 0: there was none
}

// rawPacket is a handshake packet to be sent.
type rawPacket struct {
	tuple Tuple
	b     []byte
}

// response is our answer to the newest initiation, kept for its copies.
type response struct {
	mac   [16]byte // of the initiation: its mac1
	index uint32   // ours
	b     []byte
	left  int     // copies of the initiation that are answered, from where the peer is known
	again int     // cookies that are
	on    []Tuple // where it went first

	copies limiter // from elsewhere
	more   bool    // it went to more places than are noted
}

// went reports whether the response for index went to t, and whether to no other address.
// Where the one before the newest went is not remembered.
func (r *response) went(t Tuple, index uint32) (there, sole bool) {
	return r.index == index && slices.Contains(r.on, t), !r.more && soleAddr(r.on).IsValid()
}

// answers reports whether a packet for index that comes from a tuple may be about it.
func (r *response) answers(index uint32, from Tuple) bool {
	return r.b != nil && r.index == index && anyReaches(r.on, from)
}

// foreign is what is known of a peer that has said, under its key and in answer to us,
// that it speaks another protocol. The zero value has not.
type foreign struct {
	protocol uint32
	until    mono.Time // it is not called before then
}

// soleAddr returns the remote address of all of tuples, if it is but one.
func soleAddr(tuples []Tuple) (a netip.Addr) {
	for i, t := range tuples {
		if i > 0 && t.Remote.Addr() != a {
			return netip.Addr{}
		}
		a = t.Remote.Addr()
	}
	return a
}

// Timing of handshakes.
const (
	retryFirst = 250 * time.Millisecond // doubles, with jitter
	retryMost  = 5 * time.Second
	// giveUpAfter so many attempts, over about 90 s, what waits is dropped.
	giveUpAttempts = 22
	// greetAttempts is when a greeting is given up, some 2 s after the first: a
	// peer that is there has answered, and one that comes later greets us.
	greetAttempts = 3
	// hellos is the number of paths an initiation is sent on at once: a dead
	// first path must not stop the tunnel.
	hellos = 8
	// echoes is how many copies of one initiation are answered, each on the path
	// it came on, that come from where the peer is known to be.
	echoes = 8
)
