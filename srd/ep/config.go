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

const (
	// MaxMessage is the largest message in bytes. The wire format counts the bytes of a message
	// and its immediate data in three bytes.
	MaxMessage = 8 << 20
	// EagerMost is the number of bytes of a message that are sent before its receiver reserves a
	// receive (a posted buffer). The largest packet of AWS's Elastic Fabric Adapter (EFA) has 8
	// KiB, too. So a refused message costs the network no more than with EFA.
	EagerMost = 8 << 10
	// immediateLen is the length of immediate data, which comes first in a message on the wire.
	immediateLen = 4
	totalMost    = MaxMessage + immediateLen
	// reliablePiece is the longest piece of a message without a deadline. Every path can carry a
	// piece of this length, so it can be sent again even if the path MTU has become smaller.
	reliablePiece = srd.BasePacket - wire.Overhead - wire.MessageOverhead
	// requestsMost bounds the unanswered requests to one peer. The responder stores about 100
	// bytes for each of them.
	requestsMost = 1024
	// answersMost bounds the answers to one peer that are not yet acknowledged. An honest peer
	// has at most requestsMost unanswered requests, so each round trip adds at most requestsMost
	// answers.
	answersMost = 8 * requestsMost
)

const (
	// In a network with four equal paths, sixteen random ports leave one of the paths unused in
	// one of 25 cases.
	defaultPorts        = 16
	defaultSendDepth    = 256
	defaultReceiveDepth = 1024
	// defaultUnresponsive is longer than the failures of two paths one after the other, and
	// short enough for a user to wait.
	defaultUnresponsive = 10 * time.Second
)

// depthMost bounds SendDepth and ReceiveDepth.
const depthMost = 1 << 20

// Config configures an endpoint. The fields Key and Protocol are required.
type Config struct {
	Key PrivateKey // Key is this program's private key. NewKey makes a new key.
	// Protocol names the program's protocol. Both ends must have the same Protocol.
	Protocol string
	// Allow lists the public keys of peers that may send without a Handle to them.
	Allow []PublicKey
	// Port is the UDP port at which peers reach this program. A Port of zero means any free
	// port.
	Port uint16
	// Local lists addresses of this host. Paths begin at each local address, and their packets
	// leave through the address's interface. If Local is empty, the kernel chooses the source
	// address.
	Local []netip.Addr
	// Ports is the number of UDP source ports. In a network with ECMP, Ports is the number of
	// paths between two addresses. If Ports is zero, there are 16 ports. A session takes about
	// 50 KB with 16 ports, and 40 KB with four ports.
	Ports int
	// SendDepth bounds a handle's requests without a polled completion. If SendDepth is zero,
	// the bound is 256 requests.
	SendDepth int
	// ReceiveDepth bounds the receives that are posted, or completed and not polled. If
	// ReceiveDepth is zero, the bound is 1,024 receives.
	ReceiveDepth int
	// PeerReceives bounds the received messages of one peer for which the program has not called
	// Completion.Release. The endpoint refuses further messages as if no receive were posted.
	// Messages with immediate data do not count. The value zero means no bound.
	PeerReceives int
	// Unresponsive is how long a peer may be silent while requests wait for its answer. The
	// value zero means 10 seconds.
	Unresponsive time.Duration
	// IdleTimeout is the time without a message after which the endpoint ends a session. The
	// next message begins a new session. If IdleTimeout is zero, idle sessions do not end.
	IdleTimeout time.Duration
	// Workers is the number of threads that send and receive packets. If Workers is zero, there
	// is one thread.
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

// protocolNumber returns the number that stands for a protocol's name in the handshake.
func protocolNumber(name string) (uint32, error) {
	sum := blake2s.Sum256([]byte(name))
	n := binary.BigEndian.Uint32(sum[:])
	if name == "" || n == 0 {
		return 0, fmt.Errorf("ep: protocol %q: it needs a name, or another", name)
	}
	return n, nil
}
