package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/srdtun/srdtun/overlay/control"
)

// limits has the names, as in the status, of the limits that delay sending while data waits.
var limits = []string{"window", "pacing", "paths", "outbox"}

// recentLeastUs is the shortest time span, in microseconds, from which a limit is judged. In a shorter
// one a handshake counts much.
const recentLeastUs = 100_000

// LimitedBy returns the limit that recently delayed sending to a peer most, its share of the time,
// and the figure that explains it.
func LimitedBy(p *control.Peer) string {
	switch {
	case p.NoWay != "":
		return "this host: it has no way to the peer"
	case p.SessionFault != "" && p.Cipher == "":
		return "the session: see the fault"
	case p.LeftUnixS != 0:
		return "the peer: it left"
	case p.SilentSinceUnixS != 0:
		return "the peer: it does not answer"
	case p.Cipher == "" && p.Queue.Frames > 0:
		return "the session: a handshake has begun"
	case p.Cipher == "":
		return "nothing: there is no session, and nothing to send"
	case p.Recent.OverUs < recentLeastUs:
		return "not known yet"
	}
	most, share := largest(&p.Recent)
	over := float64(p.Recent.OverUs) / 1e6
	return fmt.Sprintf("%s, %.0f%% of the last %.1f s%s", limitName[most], 100*float64(share)/float64(p.Recent.OverUs), over, why(most, p))
}

// largest returns the limit that delayed sending for the longest time, and that time in
// microseconds. The limit "data" means that there was nothing to send. It counts as the largest if
// it lasted for half of the time; otherwise largest() compares only the other limits. Time that no
// limit explains counts as "host".
func largest(r *control.Recent) (limit string, us int64) {
	data := int64(r.WaitedUs["data"])
	if 2*data >= r.OverUs {
		return "data", data
	}
	rest := r.OverUs - data
	for _, name := range limits {
		v := int64(r.WaitedUs[name])
		rest -= v
		if v > us {
			limit, us = name, v
		}
	}
	if rest > us {
		return "host", rest
	}
	return limit, us
}

var limitName = map[string]string{
	"data":   "nothing: applications send less than the paths can carry",
	"window": "congestion window",
	"pacing": "pacing",
	"paths":  "paths",
	"outbox": "acknowledgements",
	"host":   "this host's processor",
}

// why returns the figure that explains the limit.
func why(limit string, p *control.Peer) string {
	switch limit {
	case "window":
		if p.PathQueueUs > p.PathQueueTargetUs {
			return fmt.Sprintf(": queue %s, aim %s", Micros(p.PathQueueUs), Micros(p.PathQueueTargetUs))
		}
		return ": " + Bytes(p.CwndBytes)
	case "pacing":
		return " to " + Rate(p.RateBytesPerS)
	case "paths":
		up, all := Up(p.Paths)
		return fmt.Sprintf(": %d of %d up", up, all)
	case "outbox":
		return ": too many messages wait"
	}
	return ""
}

// udpHeaders is the size of the IPv4 and UDP headers in bytes, which a path's MTU includes.
const udpHeaders = 28

// narrow returns the path because of which all paths carry only small packets although others could
// carry larger ones, or nil.
func narrow(p *control.Peer) *control.Path {
	var least, most *control.Path
	for i := range p.Paths {
		v := &p.Paths[i]
		if v.State != control.PathActive || v.MTU == 0 {
			continue
		}
		if least == nil || v.MTU < least.MTU {
			least = v
		}
		if most == nil || v.MTU > most.MTU {
			most = v
		}
	}
	if least == nil || least.MTU == most.MTU || p.PacketBytes > least.MTU-udpHeaders {
		return nil
	}
	return least
}

// Troubles returns the faults of an interface, one line each.
func Troubles(st *control.Status, now time.Time) (v []string) {
	for _, l := range st.Missing {
		v = append(v, fmt.Sprintf("paths.local: %s has no address here", l))
	}
	v = append(v, st.Conflicts...)
	v = append(v, st.Faults...)
	for i := range st.Peers {
		p := &st.Peers[i]
		switch {
		case p.SessionFault != "":
			v = append(v, fmt.Sprintf("peer %s: %s", Title(p), p.SessionFault))
		case len(p.Endpoints) == 0 && (p.Cipher == "" || p.LeftUnixS != 0):
			// A roaming peer is away. This host knows at most an old address of it.
		case p.NoWay != "":
			v = append(v, fmt.Sprintf("peer %s: %s", Title(p), p.NoWay))
		case p.LeftUnixS != 0:
			v = append(v, fmt.Sprintf("peer %s: left %s ago", Title(p), Duration(age(p.LeftUnixS, now))))
		case p.SilentSinceUnixS != 0:
			v = append(v, fmt.Sprintf("peer %s: no answer for %s", Title(p), Duration(age(p.SilentSinceUnixS, now))))
		case p.Cipher == "" && p.PersistentKeepaliveS > 0 && len(p.Endpoints) > 0 && st.UptimeS > sessionWaitS:
			v = append(v, fmt.Sprintf("peer %s: no session, although it has a keepalive", Title(p)))
		case p.Cipher == "" && p.TxBytes > 0 && p.RxBytes == 0:
			v = append(v, fmt.Sprintf("peer %s: no answer to handshakes yet", Title(p)))
		default:
			v = append(v, deadPaths(p)...)
		}
	}
	return v
}

// NoSession tells why an interface without faults has no session, as the end of a sentence.
func NoSession(st *control.Status, now time.Time) string {
	left, called := 0, false
	last := int64(0)
	for i := range st.Peers {
		p := &st.Peers[i]
		if p.LeftUnixS != 0 {
			left, last = left+1, max(last, p.LeftUnixS)
		}
		called = called || len(p.Endpoints) > 0
	}
	switch {
	case left == 1:
		return fmt.Sprintf("; a peer closed it %s ago", Duration(age(last, now)))
	case left > 1:
		return fmt.Sprintf("; %d peers closed it, the last one %s ago", left, Duration(age(last, now)))
	case called:
		return ", so nothing is known; persistent_keepalive keeps a session"
	}
	return ": no peer has endpoints, so this host waits for their calls" + refusedCalls(st)
}

// refusedCalls tells of handshakes that this host refused, as the end of a sentence. Anybody can
// send them, so they are no fault.
func refusedCalls(st *control.Status) (text string) {
	for _, r := range []struct{ reason, what string }{
		{"unknown_peer", "from keys of no peer"},
		{"bad_mac1", "for another public key than this host's"},
	} {
		if n := st.Drops[r.reason]; n > 0 {
			text += fmt.Sprintf("; it refused %s %s (%s, see srdtun events)", count(int(n), "handshake packet"), r.what, r.reason)
		}
	}
	return text
}

// age returns the time from the Unix time unixS until now, or 0 if unixS is later than now.
func age(unixS int64, now time.Time) time.Duration {
	return max(0, now.Sub(time.Unix(unixS, 0)))
}

// NoPeer returns the reason why an interface has no peer.
func NoPeer(st *control.Status) string {
	if len(st.Expired) == 0 {
		return "it has no peer"
	}
	return "it has no peer; expired: " + strings.Join(shorten(expiredPeers(st), screenWidth), ", ")
}

// sessionWaitS is the time after the start, in seconds, in which a peer with keepalives need not
// have a session yet. It allows for two handshake attempts.
const sessionWaitS = 10

// deadPaths returns the addresses of the paths that are down.
func deadPaths(p *control.Peer) (v []string) {
	for _, g := range Groups(p.Paths) {
		if g.Down > 0 {
			v = append(v, fmt.Sprintf("peer %s: %d of %s from %s to %s down", Title(p), g.Down, count(len(g.Paths), "path"), g.Local, g.Remote))
		}
	}
	return v
}

// Title returns the name of a peer, or the key of a peer without a name.
func Title(p *control.Peer) string {
	if p.Name != "" {
		return p.Name
	}
	return p.PublicKey
}
