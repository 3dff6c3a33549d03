// Package health finds out from what is seen of peers, about once a second, what happened to them.
package health

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// Sample is what the observer sees of a peer at one moment.
type Sample struct {
	Session  srd.Session
	Since    mono.Time // first thing that was not answered
	Silent   bool      // for long
	Restarts uint64    // of the peer's process
	Closed   uint64    // sessions that the peer ended
	Mismatch uint64    // answers to handshakes that did not decrypt
	TooSmall uint64    // paths that carry small packets alone
	Bytes    uint64    // received and sent

	Looked bool // the paths were looked at
	Paths  []srd.PathInfo
	Most   int // the largest UDP payload that the devices here would take; 0: unknown
}

// tally is how many paths from one uplink there are in each state.
type tally struct{ active, pending, down int }

// Peer finds out from what it sees, about once a second, what happened to one peer. It
// remembers what it has told. The zero value has seen nothing: a session that is there at
// the first look, which may come milliseconds after the start, is one that came up.
type Peer struct {
	now  Sample
	seen Sample // at the look before

	silent   mono.Time // told to be silent since then; 0: it is not
	mismatch bool      // told since the last session
	tooSmall bool
	small    uint64           // paths that carried small packets alone, when full ones passed last
	at       []netip.Addr     // where the peer was told to be
	ports    []netip.AddrPort // and by which ports
	froms    map[srd.Uplink]tally
	settling int       // looks at the paths to come
	down     int       // paths told to be down
	falling  int       // looks in a row at which more were
	mtu      int       // the largest packet, as told; 0: not yet
	newMTU   int       // as it is now
	mtuSince mono.Time // since when

	Verbose bool
	states  map[srd.Tuple]srd.PathState // if verbose
	Title   func(srd.Uplink) string     // what people call an uplink

	told []events.Event // of this look
}

// say tells of an event; attrs are pairs.
func (w *Peer) say(kind events.Kind, text string, attrs ...string) {
	e := events.Event{Kind: kind, Text: text}
	for i := 0; i+1 < len(attrs); i += 2 {
		if e.Attributes == nil {
			e.Attributes = map[string]string{}
		}
		e.Attributes[attrs[i]] = attrs[i+1]
	}
	w.told = append(w.told, e)
}

// See takes in what is seen now. Look follows, once all peers were seen.
func (w *Peer) See(s Sample) {
	if w.now = s; s.Looked {
		w.froms = tallies(s.Paths)
	}
}

// Look returns what happened since the look before. Paths from uplinks in gone are accounted
// for by these.
func (w *Peer) Look(now mono.Time, gone map[srd.Uplink]bool) []events.Event {
	s := w.now
	w.told = w.told[:0]
	w.sessions(now, &s)
	w.answers(now, &s)
	w.handshakes(&s)
	if s.Looked {
		w.eachPath(&s)
		w.places(&s)
		w.sizes(now, &s)
	}
	w.losses(gone)
	w.mtuChange(now, &s)
	s.Paths, w.now.Paths = nil, nil // a thousand peers' would be megabytes
	w.seen = s
	return w.told
}

// sessions tells of keys that came and went.
func (w *Peer) sessions(now mono.Time, s *Sample) {
	before := &w.seen
	fresh := s.Session.Since != before.Session.Since
	switch {
	case s.Session.Ready && before.Session.Ready && s.Restarts != before.Restarts:
		w.say(events.PeerRestarted, "its process is another one than before; session up again", "cipher", fmt.Sprint(s.Session.Cipher))
	case s.Session.Ready && !before.Session.Ready:
		w.say(events.SessionUp, fmt.Sprintf("session up (%v, %s called)", s.Session.Cipher, caller(s.Session.Initiator)),
			"cipher", fmt.Sprint(s.Session.Cipher), "initiator", fmt.Sprint(s.Session.Initiator))
	case s.Session.Ready && fresh:
		w.say(events.SessionRenewed, "new keys")
	case !s.Session.Ready && before.Session.Ready:
		w.lost(now, s)
	}
	if s.Session.Ready && fresh {
		w.mismatch = false
	}
}

func caller(initiator bool) string {
	if initiator {
		return "this end"
	}
	return "the peer"
}

// lost tells why a session ended.
func (w *Peer) lost(now mono.Time, s *Sample) {
	switch {
	case s.Closed != w.seen.Closed:
		w.say(events.SessionEnded, "session ended: the peer ended it")
	case s.Since != 0 || w.seen.Since != 0:
		since := max(s.Since, w.seen.Since)
		w.say(events.SessionLost, fmt.Sprintf("session lost: no answer for %v", now.Sub(since).Round(time.Second)), "why", "no answer")
	default:
		w.say(events.SessionExpired, "session expired: nothing was sent")
	}
}

// answers tells when the peer falls silent and answers again.
func (w *Peer) answers(now mono.Time, s *Sample) {
	if w.silent != 0 && s.Since != w.silent {
		w.say(events.PeerAnswers, fmt.Sprintf("answers again after %v", now.Sub(w.silent).Round(time.Second)))
		w.silent = 0
	}
	if s.Silent && w.silent == 0 {
		w.silent = s.Since
		w.say(events.PeerSilent, fmt.Sprintf("no answer for %v", now.Sub(s.Since).Round(time.Second)))
	}
}

// handshakes tells of answers that are not the peer's, or were made with another key.
func (w *Peer) handshakes(s *Sample) {
	if s.Mismatch != w.seen.Mismatch && !s.Session.Ready && !w.mismatch {
		w.mismatch = true
		w.say(events.HandshakeMismatch, "its answers to handshakes do not decrypt: is the preshared_key the same at both ends?")
	}
}

// tallies counts the paths from each uplink.
func tallies(paths []srd.PathInfo) map[srd.Uplink]tally {
	v := map[srd.Uplink]tally{}
	for i := range paths {
		p := &paths[i]
		a := p.Tuple.Local
		t := v[a]
		switch p.State {
		case srd.PathActive:
			t.active++
		case srd.PathDown:
			t.down++
		default:
			t.pending++
		}
		v[a] = t
	}
	return v
}

// heardWithin is how long before the newest packet another address of the peer's counts as
// one where it is: longer than it leaves out any of its paths while it sends.
const heardWithin = 5 * time.Second

// places tells where the peer is heard from, when that is nowhere it was told to be. An
// address stays one where it was told to be as long as paths to it count as working, so
// that a peer with two, which uses them in turn, is not told to move all the time.
func (w *Peer) places(s *Sample) {
	var newest mono.Time
	for i := range s.Paths {
		newest = max(newest, s.Paths[i].Seen)
	}
	var at, active []netip.Addr
	var ports, activePorts []netip.AddrPort
	for i := range s.Paths {
		p := &s.Paths[i]
		if p.State != srd.PathActive {
			continue
		}
		active, activePorts = include(active, p.Tuple.Remote.Addr()), include(activePorts, p.Tuple.Remote)
		if newest.Sub(p.Seen) < heardWithin {
			at, ports = include(at, p.Tuple.Remote.Addr()), include(ports, p.Tuple.Remote)
		}
	}
	switch {
	case len(at) == 0:
		return
	case len(w.at) == 0:
	case !overlap(at, w.at):
		w.say(events.PeerMoved, fmt.Sprintf("it is at %s now, and was at %s", events.List(at), events.List(w.at)), "to", events.List(at), "from", events.List(w.at))
	case !overlap(ports, w.ports):
		w.say(events.PeerRebound, fmt.Sprintf("all its ports at %s are others now, as behind a NAT that forgot it", events.List(at)))
	default:
		return
	}
	w.at, w.ports = keep(at, w.at, active), keep(ports, w.ports, activePorts)
}

// keep returns v with those of before that are among live.
func keep[T comparable](v, before, live []T) []T {
	for _, a := range before {
		if slices.Contains(live, a) {
			v = include(v, a)
		}
	}
	return v
}

// include returns v with a in it.
func include[T comparable](v []T, a T) []T {
	if slices.Contains(v, a) {
		return v
	}
	return append(v, a)
}

func overlap[T comparable](a, b []T) bool {
	return slices.ContainsFunc(a, func(v T) bool { return slices.Contains(b, v) })
}

// fallingLooks is how many looks in a row paths must be down before that is told: one in
// which some are is nothing in a network that loses packets.
const fallingLooks = 2

// losses tells of paths that are down, and when all work again. The number is told again
// only when it is an eighth of all higher.
func (w *Peer) losses(gone map[srd.Uplink]bool) {
	var t tally
	others := 0 // paths that their uplink accounts for
	for a, n := range w.froms {
		if gone[a] {
			others += n.active + n.pending + n.down
			continue
		}
		t.active, t.pending, t.down = t.active+n.active, t.pending+n.pending, t.down+n.down
	}
	all := t.active + t.pending + t.down
	switch {
	case t.down == 0 && t.active > 0 && t.pending == 0 && w.down > 0:
		w.down = 0
		w.say(events.PathsBack, backText(all, others))
	case t.down <= w.down || w.down > 0 && t.down-w.down < max(1, all/8):
		w.falling = 0
	default:
		if w.falling++; w.falling >= fallingLooks {
			w.falling, w.down = 0, t.down
			w.say(events.PathsDown, downText(t, all), "down", fmt.Sprint(t.down), "paths", fmt.Sprint(all))
		}
	}
}

// backText does not claim more than is so: an uplink that was found to be down takes its
// paths out of the number of those that are.
func backText(all, others int) string {
	if others > 0 {
		return fmt.Sprintf("all %d paths but the %d of an uplink that is down work", all+others, others)
	}
	return fmt.Sprintf("all %d paths work again", all)
}

func downText(t tally, all int) string {
	if t.active == 0 {
		return fmt.Sprintf("none of %d paths works", all)
	}
	return fmt.Sprintf("%d of %d paths do not work", t.down, all)
}

// headersIPv4 are the bytes of outer headers over IPv4.
const headersIPv4 = 28

// mtuStands is how long the largest packet must have been what it is: sizes are probed for
// some round trips after each change.
const mtuStands = 5 * time.Second

// sizes notes the largest packet that all paths in use carry, and whether full ones pass
// at all.
func (w *Peer) sizes(now mono.Time, s *Sample) {
	least, sized := 0, false
	for i := range s.Paths {
		p := &s.Paths[i]
		if p.State != srd.PathActive {
			continue
		}
		sized = sized || !p.Unsized
		if p.MTU > 0 && (least == 0 || p.MTU < least) {
			least = p.MTU
		}
	}
	switch {
	case sized:
		w.tooSmall, w.small = false, s.TooSmall
	case s.TooSmall != w.small && !w.tooSmall:
		w.tooSmall = true
		w.say(events.PathMTUTooLow, fmt.Sprintf("small packets pass, and none of %d bytes: the path MTU is below what every path must carry", srd.BasePacket+headersIPv4))
	}
	if sized && least != w.newMTU {
		w.newMTU, w.mtuSince = least, now
	}
}

// mtuChange tells of a largest packet that has stood for a while. The first one is told if
// it is less than the devices here take.
func (w *Peer) mtuChange(now mono.Time, s *Sample) {
	most := max(s.Most, w.seen.Most)
	s.Most = most
	if w.newMTU == 0 || w.newMTU == w.mtu || now.Sub(w.mtuSince) < mtuStands {
		return
	}
	if before := w.mtu; before != 0 || w.newMTU < most {
		if before == 0 {
			before = most
		}
		w.say(events.PathMTU, fmt.Sprintf("packets carry at most %d bytes of UDP payload, not %d", w.newMTU, before), "payload", fmt.Sprint(w.newMTU))
	}
	w.mtu = w.newMTU
}

// eachPath tells of every path's state, for whoever looks for faults.
func (w *Peer) eachPath(s *Sample) {
	if !w.Verbose {
		return
	}
	before := w.states
	w.states = make(map[srd.Tuple]srd.PathState, len(s.Paths))
	for i := range s.Paths {
		p := &s.Paths[i]
		w.states[p.Tuple] = p.State
		if was := before[p.Tuple]; was != p.State {
			w.say(events.PathState, fmt.Sprintf("path %d, %v socket %d to %v: %v, was %v", p.Slot, w.Title(p.Tuple.Local), p.Tuple.Sock, p.Tuple.Remote, p.State, was))
			w.told[len(w.told)-1].Subject = fmt.Sprint(p.Tuple)
		}
	}
}

// Works returns the uplinks from which paths work, and those from which none does, as there
// were when they were looked at last.
func (w *Peer) Works() (yes, no []srd.Uplink) {
	for _, a := range slices.SortedFunc(maps.Keys(w.froms), srd.Uplink.Compare) {
		switch t := w.froms[a]; {
		case t.active > 0:
			yes = append(yes, a)
		case t.pending == 0 && t.down > 0:
			no = append(no, a)
		}
	}
	return yes, no
}

// settleLooks is how often the paths of a peer are still looked at when no packet comes or
// goes any more: what is down is told at the second look.
const settleLooks = 3

// WantsPaths reports whether the paths are to be looked at, as bytes came or went since the look
// before, or the host's addresses are others.
func (w *Peer) WantsPaths(bytes uint64, again bool) bool {
	if again || bytes != w.seen.Bytes {
		w.settling = settleLooks
	}
	if w.settling == 0 {
		return false
	}
	w.settling--
	return true
}

// Sized reports whether the largest packet to the peer was found.
func (w *Peer) Sized() bool { return w.mtu != 0 }
