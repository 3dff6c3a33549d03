package msg

import (
	"errors"
	"fmt"

	"github.com/srdtun/srdtun/srd/ep"
)

// MaxMessage is the most bytes of a message.
const MaxMessage = 1 << 30

const (
	// frames is how many frames may wait for the goroutine that matches them: two batches of
	// package srd/loop.
	frames = 256
	// defaultUnexpected is the depth of the match queues of common adapters. With the longest
	// frames that is 2 MiB for a peer.
	defaultUnexpected = 256
	unexpectedMost    = 1 << 16
	// defaultSendDepth and defaultReceiveDepth are those of package ep.
	defaultSendDepth    = 256
	defaultReceiveDepth = 1024
	depthMost           = 1 << 20
)

// These are the errors of completions, beside ep.Status.
var (
	// ErrTruncated means that a message was longer than the buffer. The rest is lost.
	ErrTruncated = errors.New("msg: the message is longer than the buffer")
	// ErrCanceled means that Cancel took the receive back.
	ErrCanceled = errors.New("msg: the receive was canceled")
	// ErrTooLarge is an error of Send: the message is larger than MaxMessage.
	ErrTooLarge = fmt.Errorf("msg: message larger than %d bytes", MaxMessage)
)

// Config configures an endpoint.
type Config struct {
	// Endpoint configures the endpoint of package ep below. Its Protocol names the program's
	// protocol; endpoints of package ep itself do not match it. Its SendDepth bounds the sends
	// of a handle whose completions were not polled. Its ReceiveDepth bounds the receives that
	// are posted, or whose completions were not polled. Its PeerReceives is not used.
	Endpoint ep.Config
	// Unexpected bounds the messages of one peer that came before their receives; 0 means
	// 256. The peer's other messages wait at their sender.
	Unexpected int
	// Eager is the longest message whose bytes are sent at once. The receiver of a longer one
	// reads it when a receive has matched. 0 means what one frame holds, some 8 KiB.
	Eager int
}

// settled returns c with its defaults, or an error for a value that makes no sense.
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

// below returns the configuration of the endpoint below.
func (c Config) below() ep.Config {
	b := c.Endpoint
	if b.Protocol != "" {
		b.Protocol += " over srd/msg 1"
	}
	// A handle of this package has a place for each message that the one below holds. The
	// handle for reads and answers has places of its own.
	b.SendDepth = max(c.Endpoint.SendDepth, 2*readsMost)
	b.ReceiveDepth = frames
	b.PeerReceives = c.Unexpected
	return b
}
