package daemon

import "github.com/srdtun/srdtun/overlay/events"

// condition is something that holds or does not, and is told when that changes.
type condition struct {
	kind    events.Kind
	peer    *peer // nil: of none
	subject string
}

// conditions are those that hold. The zero value has none.
type conditions map[condition]bool

// set notes whether k holds, and reports whether that has changed.
func (c *conditions) set(k condition, holds bool) (changed bool) {
	if (*c)[k] == holds {
		return false
	}
	if *c == nil {
		*c = conditions{}
	}
	if holds {
		(*c)[k] = true
	} else {
		delete(*c, k)
	}
	return true
}

// forget drops what held of peers that are not among those that there are.
func (c conditions) forget(peers []*peer) {
	there := make(map[*peer]bool, len(peers))
	for _, p := range peers {
		there[p] = true
	}
	for k := range c {
		if k.peer != nil && !there[k.peer] {
			delete(c, k)
		}
	}
}
