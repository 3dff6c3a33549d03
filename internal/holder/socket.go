package holder

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Socket is a bound socket of the caller's network namespace.
type Socket struct {
	At    netip.AddrPort
	inode string
}

// UDP returns the bound UDP sockets.
func UDP() []Socket { return append(sockets("udp", ""), sockets("udp6", "")...) }

// TCP returns the TCP sockets that listen.
func TCP() []Socket { return append(sockets("tcp", listening), sockets("tcp6", listening)...) }

// listening is the state TCP_LISTEN of linux/tcp_states.h.
const listening = "0A"

// sockets parses a file of /proc/net. If `state` is not "", the result has only sockets in this
// state.
func sockets(file, state string) (v []Socket) {
	text, err := os.ReadFile("/proc/thread-self/net/" + file)
	if err != nil {
		return nil // the kernel has no IPv6
	}
	for line := range strings.Lines(string(text)) {
		// 77: 0100007F:CA6C 00000000:0000 0A 00000000:00000000 00:00000000 00000000 uid timeout inode
		f := strings.Fields(line)
		if len(f) < 10 || state != "" && f[3] != state {
			continue
		}
		if at, ok := parseAddress(f[1]); ok {
			v = append(v, Socket{at, f[9]})
		}
	}
	return v
}

// parseAddress parses an address of /proc/net: words of four bytes in the byte order of this host,
// and the port.
func parseAddress(text string) (at netip.AddrPort, ok bool) {
	host, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(host)
	n, err2 := strconv.ParseUint(port, 16, 16)
	if err != nil || err2 != nil {
		return at, false
	}
	for word := range slices.Chunk(b[:len(b)&^3], 4) {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	a, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(a.Unmap(), uint16(n)), ok
}

// Processes returns the processes that have the socket open. A socket of the kernel has none.
func (s Socket) Processes() []Process {
	return openers("socket:["+s.inode+"]", func(_, _ string) bool { return true })
}
