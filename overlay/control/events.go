package control

import (
	"github.com/srdtun/srdtun/overlay/events"
)

// opEvents asks for the events after a number:
//
//	{"op":"events","after":17}  {"happened":{"run":"...","missed":0,"last":19,"events":[{...},{...}]}}
//
// A client that follows the events asks again and again, on a new connection each time. So
// it does not hold one of the few places.
const opEvents = "events"

// EventSource is a Handler that keeps events.
type EventSource interface {
	// Events returns the events after the one with that number; 0: all kept events.
	Events(after uint64) Happened
}

// Happened is the source of the output of `srdtun events`.
type Happened struct {
	Run    string         `json:"run"`    // changes at a restart of the daemon; then numbers begin again
	Missed uint64         `json:"missed"` // events after the requested number that are not kept any more
	Last   uint64         `json:"last"`   // number of the newest event
	Events []events.Event `json:"events"` // oldest first
}

// Events asks for the events after that number; 0: all kept events.
func (c *Client) Events(after uint64) (*Happened, error) {
	r, err := c.do(request{Op: opEvents, After: after})
	if err != nil {
		return nil, err
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
