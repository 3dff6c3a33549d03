package holder

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
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

// Listens reports whether a unix socket that was bound to a path listens in the process's network
// namespace. The path is that of bind(2), also after the socket's file was renamed or removed.
func (p Process) Listens(path string) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/unix", p.PID))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		// 00000000: 00000002 00000000 00010000 0001 01 inode path
		f := strings.Fields(line)
		if len(f) > 7 && f[3] == accepts && strings.HasSuffix(line, " "+path+"\n") {
			return true
		}
	}
	return false
}

// accepts is the flag __SO_ACCEPTCON of linux/net.h.
const accepts = "00010000"

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
