package msg

import (
	"errors"
	"fmt"

	"github.com/srdtun/srdtun/srd/ep"
)

// MaxMessage is the largest message in bytes.
const MaxMessage = 1 << 30

const (
	// frames is how many frames may wait for the goroutine that matches them: two batches of
	// package srd/loop.
	frames = 256
	// defaultUnexpected is the depth of common adapters' match queues. With the longest frames it
	// takes 2 MiB for each peer.
	defaultUnexpected = 256
	unexpectedMost    = 1 << 16
	// defaultSendDepth and defaultReceiveDepth have the values of package ep.
	defaultSendDepth    = 256
	defaultReceiveDepth = 1024
	depthMost           = 1 << 20
)

// These are the errors of completions, in addition to ep.Status.
var (
	// ErrTruncated means that a message was longer than the buffer. Its end is lost.
	ErrTruncated = errors.New("msg: the message is longer than the buffer")
	// ErrCanceled means that Cancel took the receive back.
	ErrCanceled = errors.New("msg: the receive was canceled")
	// ErrTooLarge is an error of Send: the message is larger than MaxMessage.
	ErrTooLarge = fmt.Errorf("msg: message larger than %d bytes", MaxMessage)
)

// Config configures an endpoint.
type Config struct {
	// Endpoint configures the underlying endpoint of package ep. Its Protocol names the program's
	// protocol; endpoints of package ep itself do not match it. Its SendDepth bounds a handle's
	// sends without a polled completion. Its ReceiveDepth bounds the receives that are posted, or
	// completed and not polled. Its PeerReceives is ignored.
	Endpoint ep.Config
	// Unexpected bounds the messages of one peer that arrived before their receives; 0 means 256.
	// Further messages of the peer wait at their sender.
	Unexpected int
	// Eager is the longest message whose bytes are sent at once. The receiver of a longer message
	// reads it after a receive matches. 0 means the payload of one frame, some 8 KiB.
	Eager int
}

// settled returns c with its defaults, or an error for an invalid value.
func (c Config) settled() (Config, error) {
	for _, d := range []struct {
		name            string
		n               *int
		otherwise, most int
	}{
		{"Endpoint.SendDepth", &c.Endpoint.SendDepth, defaultSendDepth, depthMost},
		{"Endpoint.ReceiveDepth", &c.Endpoint.ReceiveDepth, defaultReceiveDepth, depthMost},
		{"Unexpected", &c.Unexpected, defaultUnexpected, unexpectedMost},
		{"Eager", &c.Eager, eagerMost, eagerMost},
	} {
		if *d.n == 0 {
			*d.n = d.otherwise
		}
		if *d.n < 1 || *d.n > d.most {
			return c, fmt.Errorf("msg: Config.%s is %d, want 1 to %d", d.name, *d.n, d.most)
		}
	}
	return c, nil
}

// below returns the configuration of the underlying endpoint.
func (c Config) below() ep.Config {
	b := c.Endpoint
	if b.Protocol != "" {
		b.Protocol += " over srd/msg 1"
	}
	// The underlying handle of a Handle has a slot for each of its sends. The handle for reads
	// and answers has slots of its own.
	b.SendDepth = max(c.Endpoint.SendDepth, 2*readsMost)
	b.ReceiveDepth = frames
	b.PeerReceives = c.Unexpected
	return b
}
