package view

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/srdtun/srdtun/overlay/control"
)

// Dump prints the columns of `wg show dump` (wg(8)). The columns of an interface are its private
// key, public key, listen port and mark. The columns of a peer are its public key, preshared key,
// endpoint, allowed IPs, latest handshake, bytes received and sent, and keepalive. Dump never shows
// secrets. If withName is set, each line begins with the interface's name.
func Dump(out io.Writer, list []*control.Status, withName bool) error {
	w := bufio.NewWriter(out)
	for _, st := range list {
		name := ""
		if withName {
			name = st.Interface + "\t"
		}
		fmt.Fprintf(w, "%s%s\t%s\t%d\t%s\n", name, hidden, st.PublicKey, st.ListenPort, mark(st.FwMark))
		for _, p := range st.Peers {
			fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n", name, p.PublicKey, preshared(p),
				orNone(p.Endpoint), orNone(strings.Join(p.AllowedIPs, ",")),
				p.LatestHandshakeUnixS, p.RxBytes, p.TxBytes, keepalive(p.PersistentKeepaliveS))
		}
	}
	return w.Flush()
}

const (
	hidden = "(hidden)"
	none   = "(none)"
	off    = "off"
)

func preshared(p control.Peer) string {
	if p.HasPresharedKey {
		return hidden
	}
	return none
}

func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}

func mark(m uint32) string {
	if m == 0 {
		return off
	}
	return fmt.Sprintf("0x%x", m)
}

func keepalive(seconds int) string {
	if seconds == 0 {
		return off
	}
	return fmt.Sprint(seconds)
}
