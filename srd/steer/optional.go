package steer

import "github.com/srdtun/srdtun/srd/mono"

// Scope says for what a policy chooses a path: for a train, a flow or a peer.
type Scope uint8

const (
	// PerTrain means that any train, a burst of packets sent together, may take any path. The
	// connection then offers only eligible paths, by their cost (docs/transport.md).
	PerTrain Scope = iota
	// PerFlow means that the policy keeps flows on paths, so a train contains messages of one flow
	// only. The connection then offers all usable paths.
	PerFlow
	// PerPeer means that the policy keeps all data of a peer on one path. The connection then
	// offers all usable paths.
	PerPeer
)

// Scoped is a policy whose scope is not PerTrain.
type Scoped interface{ Scope() Scope }

// ScopeOf returns the scope of policy p.
func ScopeOf(p Policy) Scope {
	if s, ok := p.(Scoped); ok {
		return s.Scope()
	}
	return PerTrain
}

// Sender is a policy that counts the bytes sent on each path.
type Sender interface {
	// Sent reports that n bytes of UDP payload of `flow` were sent on path p, which Pick had
	// returned. Repairs, acknowledgements and probes are not reported.
	Sent(now mono.Time, p int, flow uint32, n int)
}

// Remote is a policy that uses the other end's measurements of this end's paths.
type Remote interface {
	// Reported reports the metric of path p, measured by the other end. Values above MetricMost
	// count as MetricMost.
	Reported(now mono.Time, p int, metric uint8)
}

// Placed is a policy that groups paths into classes by local address. Classes are numbered in
// the order of the addresses in the configuration.
type Placed interface {
	// Place sets the class of path p, before p is offered for the first time.
	Place(p, class int)
}

// Doubled is a policy that sends some or all messages twice.
type Doubled interface {
	// Doubles reports whether messages are sent twice: those that want a copy if wantsCopy is
	// true, otherwise all. Of messages that want a copy, each is copied separately.
	Doubles(wantsCopy bool) bool
	// Ends sets the two ends of path p, before p is offered for the first time: the local uplink,
	// and the peer's address. Ends are compared and have no other meaning.
	Ends(p int, local, remote any)
	// Second returns a second path for c.Bytes bytes of data that were just sent on the path
	// `first`. The result is another member of usable. If there is no such path, or if the budget
	// of copies is spent, Second returns false.
	Second(now mono.Time, usable *Set, c Context, first int) (int, bool)
}
