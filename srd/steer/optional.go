package steer

import "github.com/srdtun/srdtun/srd/mono"

// Scope says how long a choice holds.
type Scope uint8

// The scopes.
const (
	// PerTrain: any train may take any usable path. The connection offers only paths that
	// are not late and hold no more than their share of the window.
	PerTrain Scope = iota
	// PerFlow: a train holds messages of one flow, and the connection offers all usable
	// paths.
	PerFlow
	// PerPeer: the connection offers all usable paths.
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

// Sender is a policy that counts sent bytes.
type Sender interface {
	// Sent reports n bytes of UDP payload on path p, which Pick gave for flow. Repairs,
	// acknowledgements and probes are not reported.
	Sent(now mono.Time, p int, flow uint32, n int)
}

// Remote is a policy that takes the other end's view of our paths.
type Remote interface {
	// Told takes the metric of path p as the other end measured it. Values above
	// MetricMost count as MetricMost.
	Told(now mono.Time, p int, metric uint8)
}

// Placed is a policy that groups paths into classes: by their local address, in the order
// of the configuration.
type Placed interface {
	// Place sets path p's class, before p is first offered.
	Place(p, class int)
}

// Doubled is a policy that sends everything twice.
type Doubled interface {
	// Second returns a second path for a train just sent on first, another member of
	// usable. It returns false when there is none.
	Second(now mono.Time, usable *Set, c Context, first int) (int, bool)
}
