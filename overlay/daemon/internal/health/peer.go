// Package health derives events from the state of peers, which the daemon samples about once a
// second.
package health

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// Sample is the state of a peer at one time.
type Sample struct {
	Session  srd.Session
	Since    mono.Time // time of the first packet since which the peer owes an answer
	Silent   bool      // the peer has owed an answer for long
	Restarts uint64    // restarts of the peer's process
	Closed   uint64    // sessions that the peer ended
	Mismatch string    // why handshakes fail; "": they do not
	Twins    string    // the line about several processes with the peer's key; "": there is one
	TooSmall uint64    // number of paths that carry only small packets
	Bytes    uint64    // received and sent

	Looked bool // Paths is filled
	Paths  []srd.PathInfo
	Most   int // the largest UDP payload that this host's devices take; 0: unknown
}

// tally counts the paths from one uplink in each state.
type tally struct{ active, pending, down int }

// Peer derives the events of one peer from its samples, and stores what it has reported. The
// zero value of Peer has no samples. The first sample may be taken milliseconds after the start,
// and its session is reported as new.
type Peer struct {
	now  Sample
	seen Sample // sample of the previous look

	silent   mono.Time              // start of the reported silence; 0: none
	mismatch bool                   // reported since the last session
	tooSmall atomic.Pointer[string] // the line that no full packet passes; nil: there is none
	small    uint64                 // the value of Sample.TooSmall when full packets last passed
	at       []netip.Addr           // reported addresses of the peer
	ports    []netip.AddrPort       // reported addresses with ports
	froms    map[srd.Uplink]tally
	settling int       // number of samples of the paths that are still to be taken
	down     int       // paths reported as down
	falling  int       // number of consecutive samples in which more paths were down
	mtu      int       // reported size of the largest packet; 0: not reported yet
	newMTU   int       // current size of the largest packet
	mtuSince mono.Time // time since which the size has been newMTU

	Verbose bool
	states  map[srd.Tuple]srd.PathState // used only if Verbose is set
	Title   func(srd.Uplink) string     // name of an uplink for people

	told []events.Event // events of the current call of Look
}

// say adds an event. The parameter `attrs` has pairs of name and value.
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

// See stores a sample. In each round the caller must call See for all peers before it calls Look
// for the first peer.
func (w *Peer) See(s Sample) {
	if w.now = s; s.Looked {
		w.froms = tallies(s.Paths)
	}
}

// Look returns the events since the previous call. Paths from uplinks in `gone` are not
// reported, because the event of the uplink covers them.
func (w *Peer) Look(now mono.Time, gone map[srd.Uplink]bool) []events.Event {
	s := w.now
	w.told = w.told[:0]
	w.sessions(now, &s)
	w.answers(now, &s)
	w.handshakes(&s)
	if s.Looked {
		w.eachPath(&s)
		w.addresses(&s)
		w.sizes(now, &s)
	}
	w.losses(gone)
	w.mtuChange(now, &s)
	s.Paths, w.now.Paths = nil, nil // paths of a thousand peers would take megabytes
	w.seen = s
	return w.told
}

func (w *Peer) sessions(now mono.Time, s *Sample) {
	before := &w.seen
	fresh := s.Session.Since != before.Session.Since
	switch {
	case s.Session.Ready && before.Session.Ready && s.Restarts != before.Restarts:
		w.say(events.PeerRestarted, "its daemon was started anew; session up again", "cipher", fmt.Sprint(s.Session.Cipher))
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

// lost reports why a session ended.
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

// answers reports when the peer becomes silent (see Silence), and when it answers again.
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

// handshakes reports why handshakes fail, once until there is a session, and that several processes
// have the peer's key, once until one of them has been alone for some time.
func (w *Peer) handshakes(s *Sample) {
	if s.Mismatch != "" && !w.mismatch {
		w.mismatch = true
		w.say(events.HandshakeMismatch, s.Mismatch)
	}
	if s.Twins != "" && w.seen.Twins == "" {
		w.say(events.KeyShared, s.Twins)
	}
}

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

// heardWithin is the time before the newest packet in which an address must have been heard to
// count as current. A peer that sends uses each of its paths more often than every 5 s.
const heardWithin = 5 * time.Second

// addresses reports that the peer has moved if none of its current addresses was reported before.
// An address stays among the reported ones while a path to it is active. Otherwise a peer with two
// addresses would seem to move all the time.
func (w *Peer) addresses(s *Sample) {
	var newest mono.Time
	for i := range s.Paths {
		newest = max(newest, s.Paths[i].Seen)
	}
	var at, active []netip.Addr
	var ports, activePorts []netip.AddrPort
	for i := range s.Paths {
		p := &s.Paths[i]
		if p.State != srd.PathActive || p.Unsized { // an unsized path may end without carrying data
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
		w.say(events.PeerRebound, fmt.Sprintf("all its ports at %s have changed, as behind a NAT that forgot its mappings", events.List(at)))
	default:
		return
	}
	w.at, w.ports = keep(at, w.at, active), keep(ports, w.ports, activePorts)
}

// keep returns v, with the elements appended that are in both `before` and `live`.
func keep[T comparable](v, before, live []T) []T {
	for _, a := range before {
		if slices.Contains(live, a) {
			v = include(v, a)
		}
	}
	return v
}

func include[T comparable](v []T, a T) []T {
	if slices.Contains(v, a) {
		return v
	}
	return append(v, a)
}

func overlap[T comparable](a, b []T) bool {
	return slices.ContainsFunc(a, func(v T) bool { return slices.Contains(b, v) })
}

// fallingLooks is the number of consecutive samples in which paths must be down before a report.
// A single sample proves nothing in a network that loses packets.
const fallingLooks = 2

// losses reports how many paths are down, and later that all paths work again. After the first
// report, it reports a higher number only if that grew by an eighth of all paths.
func (w *Peer) losses(gone map[srd.Uplink]bool) {
	var t tally
	others := 0 // number of paths of uplinks that are down
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

// backText returns the text of the event that all paths work again. The parameter `all` is the
// number of these paths. The parameter `others` is the number of paths of uplinks that are down.
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

// LeastMTU returns the size of the smallest full packet to an address, including the IP and UDP
// headers. A path that carries less is not used.
func LeastMTU(to netip.Addr) int {
	if to.Is4() {
		return srd.BasePacket + 28
	}
	return srd.BasePacket + 48
}

// TooSmall returns the line that no path carries a full packet, or "". It is safe for concurrent
// use.
func (w *Peer) TooSmall() string {
	if line := w.tooSmall.Load(); line != nil {
		return *line
	}
	return ""
}

// mtuStands is the time for which the largest packet size must be stable before it is reported.
// When a path's MTU changes, the transport probes packet sizes for some round trips.
const mtuStands = 5 * time.Second

// sizes determines the largest packet size that all active paths carry, and whether full-sized
// packets pass at all.
func (w *Peer) sizes(now mono.Time, s *Sample) {
	least, need, sized := 0, 0, false
	for i := range s.Paths {
		p := &s.Paths[i]
		need = max(need, LeastMTU(p.Tuple.Remote.Addr()))
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
		w.tooSmall.Store(nil)
		w.small = s.TooSmall
	case s.TooSmall != w.small && w.TooSmall() == "":
		line := fmt.Sprintf("small packets pass, but none of %d bytes does, on no path: find the link or tunnel with the smaller MTU, and raise its MTU", need)
		w.tooSmall.Store(&line)
		w.say(events.PathMTUTooLow, line)
	}
	if sized && least != w.newMTU {
		w.newMTU, w.mtuSince = least, now
	}
}

// mtuChange reports the largest packet size once it has been stable for mtuStands. The method
// mtuChange reports the first size only if this host's devices allow larger packets.
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

// eachPath reports the state changes of every path, for debugging.
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

// Works returns the uplinks with active paths, and the uplinks whose paths were all down at the
// latest sample of paths.
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

// settleLooks is the number of samples of a peer's paths that are still taken after its last
// packet. A path that is down is reported only at the second sample.
const settleLooks = 3

// WantsPaths reports whether to sample the paths, because there was traffic since the previous
// sample or the host's addresses have changed (again).
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

// Sized reports whether the largest packet to the peer is known.
func (w *Peer) Sized() bool { return w.mtu != 0 }
