package events

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// These limits on the size of one event keep the ring within a few MB, even with long names or
// error texts.
const (
	maxText  = 512 // bytes of the text, and of the value of an attribute
	maxAttrs = 16
)

// Event is a change of state that the daemon reports.
type Event struct {
	Number     uint64            `json:"number"` // increases from 1
	Time       time.Time         `json:"time"`
	Kind       Kind              `json:"kind"`
	Level      Level             `json:"level"`
	Peer       string            `json:"peer"` // its name or key; "" if the event is about no peer
	Text       string            `json:"text"` // one line
	Attributes map[string]string `json:"attributes,omitempty"`
	LeftOut    uint64            `json:"left_out,omitempty"` // unreported earlier events of the subject or kind

	// Guest means that the event is about a peer that a user other than root has added. Guest
	// events have rate limits and a ring of their own, so they hide no event of root's peers.
	Guest bool `json:"-"`

	// Roams means that the peer has no configured endpoints, so its sessions begin and end without
	// a fault.
	Roams bool `json:"-"`

	// Subject distinguishes several subjects of one peer, or subjects without a peer,
	// such as addresses and names.
	Subject string `json:"-"`
}

// clean returns e with its texts cut to the size limits and reduced to one line.
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

// line cuts a long text, and replaces characters that could end the line or move the terminal's
// cursor.
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
