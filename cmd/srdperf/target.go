package main

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/crypto/blake2s"

	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/srd/ep"
)

// protocol is the name that srdperf's endpoints give to their protocol.
const protocol = "srdperf/1"

// clientsMost bounds the number of clients of a server, because each client takes the memory of a
// peer.
const clientsMost = 64

// target is a server in the form KEY@ADDR or KEY@ADDR,ADDR.
type target struct {
	key   ep.PublicKey
	addrs []netip.AddrPort
}

func (t target) String() string {
	var v []string
	for _, a := range t.addrs {
		v = append(v, a.String())
	}
	return t.key.String() + "@" + strings.Join(v, ",")
}

func parseTarget(text string) (t target, err error) {
	key, addrs, ok := strings.Cut(text, "@")
	if !ok {
		return t, usagef("%q is not KEY@ADDR, as srdperf serve prints it", text)
	}
	if t.key, err = ep.ParseKey(key); err != nil {
		return t, usageError{err}
	}
	for a := range strings.SplitSeq(addrs, ",") {
		at, err := netip.ParseAddrPort(a)
		if err != nil {
			return t, usagef("%q is not an address with a port", a)
		}
		t.addrs = append(t.addrs, at)
	}
	return t, nil
}

// clientKey derives the private key of a server's client from the server's public key. Everyone who
// has the server's KEY@ADDR can act as its client. Observers of the network cannot, because no
// packet contains the server's public key in plain text.
func clientKey(server ep.PublicKey, number int) (ep.PrivateKey, error) {
	b := append([]byte("srdperf client"), server[:]...)
	sum := blake2s.Sum256(binary.BigEndian.AppendUint32(b, uint32(number)))
	key, err := ep.ParsePrivateKey(keytext.Format(sum))
	if err != nil {
		return key, fmt.Errorf("key of client %d: %w", number, err)
	}
	return key, nil
}
