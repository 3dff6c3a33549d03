package srd

import (
	"encoding/binary"
	"net/netip"

	"github.com/srdtun/srdtun/srd/mono"
)

// What handshakes from the network may cost, per process. To open an initiation and to
// answer it takes some 380 us, and a response that does not open 430 us, as the attempt's
// state has to be made again (measured), on a thread that carries data as well. All
// together get a quarter of one core:
//
//	(known 250/s + others 150/s + responses 200/s) x 0.4 ms = 0.24
//
// Each has its share, which no other takes. The bursts let a hub with 256 peers meet all of
// them within a second after it was started, for 100 ms of work.
var (
	// knownLimit is for initiations from where a peer is known to be: each of a thousand
	// peers renews its keys once in two minutes.
	knownLimit = limit{rate: 250, burst: 256}
	// othersLimit is for initiations, and responses, from anywhere else.
	othersLimit = limit{rate: 150, burst: 256}
	// responseLimit is for responses from where a peer is known to be.
	responseLimit = limit{rate: 200, burst: 256}

	// openLimit is how many of either kind are handled without a cookie. Above that a
	// sender must prove its address first.
	openLimit = limit{rate: 100, burst: 100}
	// sourceLimit bounds what one address may take of its share under load, and the
	// responses to one attempt. A cookie proves an address; without this bound one proven
	// address could take the share (WireGuard has the same 20 a second).
	sourceLimit = limit{rate: 20, burst: 20}
	// chanceLimit is what packets from known addresses may take beyond that, each of 256
	// buckets, by packet (see lot): 150 a second in all.
	chanceLimit = limit{rate: 150.0 / sourceBuckets, burst: 1}

	// The cookie replies: 10,000 a second to known addresses, 20,000 to all others. One
	// costs some 10 us, most of it to send, and is a third of what caused it; limits near
	// that of initiations would let a flood take all cookies and lock peers out. The limits
	// are those of one of 256 buckets, by packet, but askerLimit by address: a flood from
	// one leaves all others theirs.
	knownCookies = limit{rate: 10_000.0 / sourceBuckets, burst: 4}
	otherCookies = limit{rate: 16_000.0 / sourceBuckets, burst: 4}
	askerLimit   = limit{rate: 4_000.0 / sourceBuckets, burst: 4}
)

// request is what the guard is told of a handshake packet.
type request struct {
	from     Tuple
	known    bool // from where a peer is known to be
	response bool
	index    uint32 // the receiver's, of a response
	mac      [16]byte
}

func (r *request) address() netip.Addr { return r.from.Remote.Addr() }

// lot is what the packet draws its bucket with. In a flood from forged addresses nobody can
// be told from a peer, but the copies of one packet, which come on several tuples and all at
// once, have a chance each.
func (r *request) lot() uint64 {
	return binary.BigEndian.Uint64(r.mac[:8]) ^ uint64(r.from.Remote.Port())<<16 ^ uint64(r.from.Sock)
}

// share is what initiations, or responses, from known addresses have.
type share struct {
	open    limiter // those without a cookie, of everybody
	work    limiter
	each    throttle // by address, or by attempt
	chances throttle // by packet
}

// guard shares out the time that handshakes may take. It is not safe for concurrent use.
type guard struct {
	initiations, responses share
	others                 limiter
	sources                throttle // of others
	cookies                throttle // replies to known addresses, by packet
	askers, strangers      throttle // and to others, by address, by packet
}

func (g *guard) shareOf(r *request) *share {
	if r.response {
		return &g.responses
	}
	return &g.initiations
}

// free reports whether a packet is handled without a cookie: there are few of its kind.
func (g *guard) free(now mono.Time, r *request) bool { return g.shareOf(r).open.take(now, openLimit) }

// fair reports whether its source, or its attempt, has not had more than it may under load.
func (g *guard) fair(now mono.Time, r *request) bool {
	s := g.shareOf(r)
	switch {
	case !r.known:
		return g.sources.address(now, r.address(), sourceLimit)
	case r.response && s.each.number(now, uint64(r.index), sourceLimit):
		return true
	case !r.response && s.each.address(now, r.address(), sourceLimit):
		return true
	}
	return s.chances.number(now, r.lot(), chanceLimit)
}

// affords takes the work for a packet out of its share.
func (g *guard) affords(now mono.Time, r *request) bool {
	switch {
	case !r.known:
		return g.others.take(now, othersLimit)
	case r.response:
		return g.responses.work.take(now, responseLimit)
	}
	return g.initiations.work.take(now, knownLimit)
}

// replies reports whether a packet may be answered with a cookie.
func (g *guard) replies(now mono.Time, r *request) bool {
	if r.known {
		return g.cookies.number(now, r.lot(), knownCookies)
	}
	return g.askers.address(now, r.address(), askerLimit) || g.strangers.number(now, r.lot(), otherCookies)
}

// salts gives the throttles a new salt when that is due.
func (g *guard) salts(now mono.Time, salt func() uint64) {
	if !g.sources.stale(now) {
		return
	}
	n := salt()
	for _, t := range []*throttle{
		&g.sources, &g.cookies, &g.askers, &g.strangers,
		&g.initiations.each, &g.initiations.chances, &g.responses.each, &g.responses.chances,
	} {
		t.reset(now, n)
	}
}
