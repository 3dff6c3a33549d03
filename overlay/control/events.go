package control

import (
	"github.com/srdtun/srdtun/overlay/events"
)

// opEvents requests the events after a number:
//
//	{"op":"events","after":17}  {"happened":{"run":"...","missed":0,"last":19,"events":[{...},{...}]}}
//
// A client that follows the events opens a new connection for each request, so it does not
// occupy one of the few connections.
const opEvents = "events"

// EventSource is a Handler that keeps events.
type EventSource interface {
	// Events returns the events after the given number, or all kept events if the number is 0.
	Events(after uint64) Happened
}

// Happened is the reply that `srdtun events` prints.
type Happened struct {
	Run    string         `json:"run"`    // changes at a restart of the daemon; then numbers begin again
	Missed uint64         `json:"missed"` // events after the requested number that are not kept any more
	Last   uint64         `json:"last"`   // number of the newest event
	Events []events.Event `json:"events"` // oldest first
}

// Events requests the events after the given number, or all kept events if the number is 0.
func (c *Client) Events(after uint64) (*Happened, error) {
	r, err := c.do(request{Op: opEvents, After: after})
	if err != nil {
		return nil, err
	}
	return r.Happened, nil
}

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
