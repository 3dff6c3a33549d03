package srd

import (
	"encoding/binary"
	"net/netip"

	"github.com/srdtun/srdtun/srd/mono"
)

// These are the limits of handshakes from the network, for one process. To decrypt an
// initiation and to build the response takes some 380 us (measured). A response that fails
// to decrypt takes 430 us, because the attempt's state must be computed again. This work
// runs on a thread that also carries data. Together all handshake packets get a quarter of
// one core:
//
//	(known 250/s + others 150/s + responses 200/s) x 0.4 ms = 0.24
//
// Each kind of packet has a share of its own. With the bursts, a hub can complete
// handshakes with 256 peers within a second after its start, for 100 ms of work.
var (
	// knownLimit is for initiations from known addresses of peers. A thousand peers that renew
	// their keys once in two minutes send only 8 a second.
	knownLimit = limit{rate: 250, burst: 256}
	// othersLimit is for initiations and responses from all other addresses.
	othersLimit = limit{rate: 150, burst: 256}
	// responseLimit is for responses from known addresses of peers.
	responseLimit = limit{rate: 200, burst: 256}

	// openLimit is the rate up to which packets of either kind are handled without a
	// cookie. Above this rate a sender must prove its address first.
	openLimit = limit{rate: 100, burst: 100}
	// sourceLimit bounds, under load, the packets from one address, and the responses to one
	// attempt. A cookie proves an address, but without this bound one proven address could use
	// up the share (WireGuard has the same limit of 20 a second).
	sourceLimit = limit{rate: 20, burst: 20}
	// chanceLimit admits packets from known addresses that exceed sourceLimit: 150 a second in
	// all. The value is the limit of one of 256 buckets. The method lot() selects a packet's
	// bucket.
	chanceLimit = limit{rate: 150.0 / sourceBuckets, burst: 1}

	// These limit cookie replies: 10,000 a second to known addresses, 20,000 to all others. A
	// reply costs some 10 us, mostly for the system call. A reply is a third as large as the
	// packet that caused it. With limits as low as for initiations, a flood could take all
	// cookies and lock peers out. Each limit is for one of 256 buckets. The method lot()
	// selects the bucket of the first two limits. The packet's address selects the bucket of
	// askerLimit, so a flood from one address cannot use up the replies for all addresses.
	knownCookies = limit{rate: 10_000.0 / sourceBuckets, burst: 4}
	otherCookies = limit{rate: 16_000.0 / sourceBuckets, burst: 4}
	askerLimit   = limit{rate: 4_000.0 / sourceBuckets, burst: 4}
)

// request holds the facts about a handshake packet that the guard uses.
type request struct {
	from     Tuple
	known    bool // the source is a known address of a peer
	response bool
	index    uint32 // receiver index of a response
	mac      [16]byte
}

func (r *request) address() netip.Addr { return r.from.Remote.Addr() }

// lot returns the number that assigns the packet to a bucket. In a flood from forged
// addresses, a peer cannot be recognised by its address. But the copies of its packet
// arrive on several tuples at the same time, and each copy has its own bucket, so one copy
// probably passes.
func (r *request) lot() uint64 {
	return binary.BigEndian.Uint64(r.mac[:8]) ^ uint64(r.from.Remote.Port())<<16 ^ uint64(r.from.Sock)
}

// share limits the initiations, or the responses, from known addresses.
type share struct {
	open    limiter // limits packets without a cookie, from all addresses
	work    limiter
	each    throttle // limits each source address, or each attempt
	chances throttle // limits packets that exceed `each`, by lot()
}

// guard divides the processor time for handshakes among the senders. It is not safe for
// concurrent use.
type guard struct {
	initiations, responses share
	others                 limiter
	sources                throttle // limits packets from each of all other addresses
	cookies                throttle // cookie replies to known addresses, by packet
	askers, strangers      throttle // cookie replies to others, by address and by packet
}

func (g *guard) shareOf(r *request) *share {
	if r.response {
		return &g.responses
	}
	return &g.initiations
}

// free reports whether a packet is handled without a cookie, because few packets of its
// kind arrive.
func (g *guard) free(now mono.Time, r *request) bool { return g.shareOf(r).open.take(now, openLimit) }

// fair reports whether the source of an initiation, or the attempt of a response, is within
// its limit under load.
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

// affords takes the work for a packet from its share, and reports whether the share had
// enough left.
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

// salts gives the throttles a new salt when a new one is due.
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
