package events

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of one event, so that the ring is no larger than some MB whatever a name or an
// error text says.
const (
	maxText  = 512 // bytes of the text, and of the value of an attribute
	maxAttrs = 16
)

// Event is one thing that happened.
type Event struct {
	Number     uint64            `json:"number"` // counts up from 1
	Time       time.Time         `json:"time"`
	Kind       Kind              `json:"kind"`
	Level      Level             `json:"level"`
	Peer       string            `json:"peer"` // its name, or its key; "" when it is about none
	Text       string            `json:"text"` // one line
	Attributes map[string]string `json:"attributes,omitempty"`
	LeftOut    uint64            `json:"left_out,omitempty"` // events of the same subject, or kind, that were not told before this one

	// Roams: the peer has no endpoints, and comes and goes.
	Roams bool `json:"-"`

	// Subject tells apart what one peer, or none, has several of.
	Subject string `json:"-"`
}

// clean returns e within the bounds, on one line.
func (e Event) clean() Event {
	e.Text, e.Peer = line(e.Text), line(e.Peer)
	if len(e.Attributes) > 0 {
		attrs := make(map[string]string, min(len(e.Attributes), maxAttrs))
		for k, v := range e.Attributes {
			if len(attrs) < maxAttrs {
				attrs[line(k)] = line(v)
			}
		}
		e.Attributes = attrs
	}
	return e
}

// line replaces what would end a line or move a cursor, and cuts what is too long.
func line(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
	if len(s) <= maxText {
		return s
	}
	const mark = "..."
	n := maxText - len(mark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}
