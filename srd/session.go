package srd

import (
	"net/netip"
	"slices"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// session runs the handshakes of a connection, and holds the keys of its sessions.
type session struct {
	keyring
	paths    *paths
	recovery *recovery

	reserved holding // addresses of the peer for which this host reserves handshake time
	calls    calls
	callAt   mono.Time // time of the next handshake, even without a message to send; 0: none is planned
	stamper  *handshake.Stamper
	replay   handshake.Replay
	out      []rawPacket
	last     response
	liar     liar
	foreign  foreign
	since    mono.Time // when the newest session began; 0: there was none
}

// rawPacket is a handshake packet to be sent.
type rawPacket struct {
	tuple Tuple
	b     []byte
}

// response is this end's response to the newest initiation. A copy of that initiation
// gets the same response.
type response struct {
	mac   [16]byte // mac1 of the initiation
	index uint32   // our receiver index
	b     []byte
	left  int     // number of further copies from known addresses of the peer that get the response
	again int     // number of further cookie replies after which the response is sent again
	on    []Tuple // the first tuples to which the response was sent

	copies limiter // limits the responses to all other copies
	more   bool    // the response was sent to more tuples than those in `on`
}

// went reports whether the response with the receiver index `index` was sent to t, and
// whether it was sent to a single remote address. Only the newest response is stored.
func (r *response) went(t Tuple, index uint32) (there, sole bool) {
	return r.index == index && slices.Contains(r.on, t), !r.more && soleAddr(r.on).IsValid()
}

// answers reports whether a packet on the tuple `from` may be a reply to the response with
// this receiver index.
func (r *response) answers(index uint32, from Tuple) bool {
	return r.b != nil && r.index == index && anyReaches(r.on, from)
}

// foreign records that the peer uses another protocol, as the peer stated in an
// authenticated response. The zero value means that no such response arrived.
type foreign struct {
	protocol uint32
	until    mono.Time // this end begins no handshake before then
}

// soleAddr returns the remote address that all tuples have in common, or an invalid one.
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
	retryFirst = 250 * time.Millisecond // first interval between attempts; it doubles, with jitter
	retryMost  = 5 * time.Second
	// giveUpAttempts is the number of attempts, over about 90 s, after which the messages that
	// wait for a session are given up.
	giveUpAttempts = 22
	// greetAttempts is the number of attempts of a greeting. They take some 2 s. A peer that
	// runs has responded by then, and a peer that starts later greets us.
	greetAttempts = 3
	// hellos is the number of paths on which an initiation is sent at once. With several
	// paths, a dead first path does not stop the tunnel.
	hellos = 8
	// echoes is the number of copies of one initiation, from known addresses of the peer, that
	// get a response. The response to a copy is sent on the path of the copy.
	echoes = 8
)
