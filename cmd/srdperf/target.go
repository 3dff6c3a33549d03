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

// protocol is the name of srdperf's protocol.
const protocol = "srdperf/1"

// clientsMost bounds the clients of a server: each costs it the state of a peer.
const clientsMost = 64

// target is a server: KEY@ADDR, or KEY@ADDR,ADDR.
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

// clientKey returns the key of a server's client, made from the server's key. Strangers and
// observers do not see the server's key, as no packet has it in the clear. So everybody who knows
// the server's KEY@ADDR can be its client.
func clientKey(server ep.PublicKey, number int) (ep.PrivateKey, error) {
	b := append([]byte("srdperf client"), server[:]...)
	sum := blake2s.Sum256(binary.BigEndian.AppendUint32(b, uint32(number)))
	key, err := ep.ParsePrivateKey(keytext.Format(sum))
	if err != nil {
		return key, fmt.Errorf("key of client %d: %w", number, err)
	}
	return key, nil
}
