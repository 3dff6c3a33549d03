package steer

import "github.com/srdtun/srdtun/srd/mono"

// Scope says how long a choice holds.
type Scope uint8

// The scopes.
const (
	// PerTrain: any usable path will do for any train. The connection offers only
	// those that are not late and do not hold more than their share of the window.
	PerTrain Scope = iota
	// PerFlow: a train holds messages of one flow, and all usable paths are offered.
	PerFlow
	// PerPeer: all usable paths are offered.
	PerPeer
)

// Scoped is a policy whose scope is not PerTrain.
type Scoped interface{ Scope() Scope }

// ScopeOf returns p's scope.
func ScopeOf(p Policy) Scope {
	if s, ok := p.(Scoped); ok {
		return s.Scope()
	}
	return PerTrain
}

// Sender is a policy that counts what is sent.
type Sender interface {
	// Sent tells that n bytes of UDP payload were sent on path p, which Pick gave
	// for flow. Repairs, acknowledgements and probes are not told of.
	Sent(now mono.Time, p int, flow uint32, n int)
}

// Remote is a policy that takes the other end's view of our paths.
type Remote interface {
	// Told takes the metric of path p as the other end measured it, 0 to
	// MetricMost; what is larger counts as MetricMost.
	Told(now mono.Time, p int, metric uint8)
}

// Placed is a policy for which paths fall into classes: by the local address that
// they leave from, in the order of the configuration.
type Placed interface {
	// Place tells path p's class, before p is first offered.
	Place(p, class int)
}

// Doubled is a policy that wants everything sent twice.
type Doubled interface {
	// Second returns a path for what has just been sent on first, another member
	// of usable; false when there is none.
	Second(now mono.Time, usable *Set, c Context, first int) (int, bool)
}
