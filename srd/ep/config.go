package ep

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/crypto/blake2s"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/internal/wire"
)

// These are the bounds of messages.
const (
	// MaxMessage is the largest message in bytes. Together with immediate data, the size fits in
	// three bytes.
	MaxMessage = 8 << 20
	// EagerMost is how many bytes of a message are sent before its receiver reserves a receive.
	// It is the size of EFA's largest packet. So a refused message costs the network no more.
	EagerMost = 8 << 10
	// immediateLen is the length of immediate data, which comes first in a message on the wire.
	immediateLen = 4
	totalMost    = MaxMessage + immediateLen
	// reliablePiece is the longest piece of a message without a deadline. Every path can carry
	// it, even if the network changed after the piece was first sent.
	reliablePiece = srd.BasePacket - wire.Overhead - wire.MessageOverhead
	// requestsMost bounds the unanswered requests to one peer. The responder remembers about 100
	// bytes of each.
	requestsMost = 1024
	// answersMost bounds the answers that a peer has not acknowledged. An honest peer has at
	// most requestsMost open requests. So in each round trip at most as many answers are added.
	answersMost = 8 * requestsMost
)

// These are the defaults of Config.
const (
	// With sixteen random paths, one of a fabric's four ways is unused once in 25 times.
	defaultPorts        = 16
	defaultSendDepth    = 256
	defaultReceiveDepth = 1024
	// defaultUnresponsive is longer than the failure of one path and of the next. It is shorter
	// than a person's patience.
	defaultUnresponsive = 10 * time.Second
)

// depthMost bounds SendDepth and ReceiveDepth.
const depthMost = 1 << 20

// Config configures an endpoint. Key and Protocol are required.
type Config struct {
	Key PrivateKey // of this program; NewKey makes a new one
	// Protocol names the program's protocol. Both ends must have the same.
	Protocol string
	// Allow lists the public keys of peers that may send without a handle to them.
	Allow []PublicKey
	// Port is the UDP port at which peers call this program; 0 means any free port.
	Port uint16
	// Local lists addresses of this host. Paths begin at each of them, and packets leave through
	// the address's interface. If it is empty, the kernel chooses.
	Local []netip.Addr
	// Ports is the number of source ports. In a network with ECMP it is the number of paths
	// between two addresses. 0 means 16. A session takes about 50 KB with 16 ports, and 40 KB
	// with four.
	Ports int
	// SendDepth bounds a handle's requests without a polled completion; 0 means 256.
	SendDepth int
	// ReceiveDepth bounds the receives that are posted, or completed and not polled; 0 means
	// 1,024.
	ReceiveDepth int
	// PeerReceives bounds the received messages of one peer before the program calls
	// Completion.Release. The endpoint refuses further messages as if no receive were posted. It
	// does not count messages with immediate data. 0 means no bound.
	PeerReceives int
	// Unresponsive is how long a peer may be silent while it has requests to answer; 0 means 10
	// seconds.
	Unresponsive time.Duration
	// IdleTimeout ends a session after this time without a message. The next message makes
	// another session. 0 means never.
	IdleTimeout time.Duration
	// Workers is the number of threads that carry packets; 0 means one.
	Workers int
}

// settled returns c with its defaults, or an error for an invalid value.
func (c Config) settled() (Config, error) {
	c.Ports = cmp.Or(c.Ports, defaultPorts)
	c.SendDepth = cmp.Or(c.SendDepth, defaultSendDepth)
	c.ReceiveDepth = cmp.Or(c.ReceiveDepth, defaultReceiveDepth)
	c.Unresponsive = cmp.Or(c.Unresponsive, defaultUnresponsive)
	c.Workers = cmp.Or(c.Workers, 1)
	for _, d := range []struct {
		name string
		n    int
	}{{"SendDepth", c.SendDepth}, {"ReceiveDepth", c.ReceiveDepth}} {
		if d.n < 1 || d.n > depthMost {
			return c, fmt.Errorf("ep: Config.%s is %d, want 1 to %d", d.name, d.n, depthMost)
		}
	}
	if c.PeerReceives < 0 || c.PeerReceives > depthMost {
		return c, fmt.Errorf("ep: Config.PeerReceives is %d, want 0 to %d", c.PeerReceives, depthMost)
	}
	if c.Unresponsive < 0 || c.IdleTimeout < 0 {
		return c, fmt.Errorf("ep: a duration of Config is negative")
	}
	return c, nil
}

// protocolNumber returns the number of a protocol's name in the handshake.
func protocolNumber(name string) (uint32, error) {
	sum := blake2s.Sum256([]byte(name))
	n := binary.BigEndian.Uint32(sum[:])
	if name == "" || n == 0 {
		return 0, fmt.Errorf("ep: protocol %q: it needs a name, or another", name)
	}
	return n, nil
}
