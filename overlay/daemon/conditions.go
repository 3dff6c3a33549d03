package daemon

import "github.com/srdtun/srdtun/overlay/events"

// condition is a state of the host or of a peer. The daemon reports its beginning and its end.
type condition struct {
	kind    events.Kind
	peer    *peer // nil: of no peer
	subject string
}

// conditions is the set of conditions that hold now. The zero value of conditions is an empty
// set.
type conditions map[condition]bool

// set records whether condition k holds, and reports whether that has changed.
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
