package control

import (
	"fmt"

	"github.com/srdtun/srdtun/overlay/events"
)

// opEvents asks for what happened after a number:
//
//	{"op":"events","after":17}  {"happened":{"run":"...","missed":0,"last":19,"events":[{...},{...}]}}
//
// Whoever follows asks again and again, each time on a connection of its own, so it keeps
// none of the few places from anybody.
const opEvents = "events"

// EventSource is a Handler that knows what happened.
type EventSource interface {
	// Events returns what happened after the event with that number; 0: all that is kept.
	Events(after uint64) Happened
}

// Happened is what `srdtun events` is made of.
type Happened struct {
	Run    string         `json:"run"`    // another one after a restart of the daemon, and numbers begin anew
	Missed uint64         `json:"missed"` // events after the one asked for that are not kept any more
	Last   uint64         `json:"last"`   // number of the newest
	Events []events.Event `json:"events"` // oldest first
}

// Events asks for what happened after the event with that number; 0: all that is kept.
func (c *Client) Events(after uint64) (*Happened, error) {
	r, err := c.do(request{Op: opEvents, After: after})
	if err != nil {
		return nil, err
	}
	if r.Happened == nil {
		return nil, fmt.Errorf("%s: reply has no events", c.at)
	}
	return r.Happened, nil
}

// happened is the reply to opEvents.
func happened(h Handler, after uint64) reply {
	s, ok := h.(EventSource)
	if !ok {
		return reply{Error: "no events are kept"}
	}
	v := s.Events(after)
	if v.Events == nil {
		v.Events = []events.Event{}
	}
	return reply{Happened: &v}
}
