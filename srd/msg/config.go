package msg

import (
	"errors"
	"fmt"

	"github.com/srdtun/srdtun/srd/ep"
)

// MaxMessage is the largest message in bytes.
const MaxMessage = 1 << 30

const (
	// frames is the number of frames that may wait for the goroutine that matches them: two
	// batches of package srd/loop.
	frames = 256
	// defaultUnexpected is the depth of the match queues of common network adapters. With the
	// longest frames, 256 messages occupy 2 MiB for each peer.
	defaultUnexpected = 256
	unexpectedMost    = 1 << 16
	// defaultSendDepth and defaultReceiveDepth have the same values as in package ep.
	defaultSendDepth    = 256
	defaultReceiveDepth = 1024
	depthMost           = 1 << 20
)

// The error of a completion may be ErrTruncated, ErrCanceled or ErrForgotten instead of an
// ep.Status.
var (
	// ErrTruncated means that a message was longer than the buffer. The bytes beyond the buffer
	// are lost.
	ErrTruncated = errors.New("msg: the message is longer than the buffer")
	// ErrCanceled means that Cancel removed the receive.
	ErrCanceled = errors.New("msg: the receive was canceled")
	// ErrForgotten means that the receiver of a long message does not know the message: the
	// receiver has restarted, or its answer was lost when a session ended. Perhaps the message
	// arrived. ErrForgotten wraps ep.StatusReset.
	ErrForgotten = fmt.Errorf("msg: the receiver no longer knows the message: %w", ep.StatusReset)
	// ErrTooLarge is an error of Send: the message is larger than MaxMessage.
	ErrTooLarge = fmt.Errorf("msg: message larger than %d bytes", MaxMessage)
)

type Config struct {
	// Endpoint configures the underlying endpoint of package ep. Both ends must be endpoints of
	// this package with the same Endpoint.Protocol. Endpoint.SendDepth bounds a handle's sends
	// without a polled completion. Endpoint.ReceiveDepth bounds the receives that are posted, or
	// completed and not polled. Endpoint.PeerReceives has no effect.
	Endpoint ep.Config
	// Unexpected bounds the number of messages of one peer that arrived before their receives.
	// If Unexpected is zero, the bound is 256. Further messages of the peer wait at their
	// sender.
	Unexpected int
	// Eager is the longest message in bytes that is sent at once. The receiver of a longer
	// message reads its bytes after a receive matches. If Eager is zero, that length is the
	// payload of one frame, some 8 KiB.
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
	// The underlying handle of a Handle has a slot for each send of the Handle. The handle for
	// reads and answers has slots of its own.
	b.SendDepth = max(c.Endpoint.SendDepth, 2*readsMost)
	b.ReceiveDepth = frames
	b.PeerReceives = c.Unexpected
	return b
}
