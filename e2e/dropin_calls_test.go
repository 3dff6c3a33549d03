package e2e

import (
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// The constants bound the packets that a daemon sends to one address on behalf of guests
// (overlay/daemon/sessions_calls.go), with 28 bytes of headers for each packet.
const (
	calleeBurst = 128 << 10
	calleeRate  = 16 << 10
)

// In TestGuestsFloodNoAddress, the owner of a drop-in directory constantly replaces 64 peers, whose
// endpoints are all on one uninvolved host. The number of bytes that the host gets must be bounded.
// The handshake with root's peer on the same host must succeed.
func TestGuestsFloodNoAddress(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	dir := newGuestDir(t)
	n := node(t, f.A(1), "cal", tunnel.Config{Address: []netip.Prefix{netip.MustParsePrefix("10.61.0.1/24")}, Extra: dir.section()})
	far := node(t, f.B(1), "cam", tunnel.Config{ListenPort: 51820, Address: []netip.Prefix{netip.MustParsePrefix("10.61.0.2/24")}})
	victim := f.B(1).Addr4()
	sink, err := f.B(1).ListenPacket("udp4", fmt.Sprintf("%s:7777", victim))
	must(t, err)
	defer sink.Close()
	var got atomic.Int64
	go func() {
		b := make([]byte, 2048)
		for {
			n, _, err := sink.ReadFrom(b)
			if err != nil {
				return
			}
			got.Add(int64(n))
		}
	}()
	n.Config.Peers = []tunnel.Peer{{Name: "roots", PublicKey: far.PublicKey, AllowedIPs: []netip.Prefix{netip.MustParsePrefix("10.61.0.2/32")}, Endpoints: []netip.AddrPort{netip.AddrPortFrom(victim, 51820)}}}
	far.Config.Peers = []tunnel.Peer{{Name: "near", PublicKey: n.PublicKey, AllowedIPs: []netip.Prefix{netip.MustParsePrefix("10.61.0.1/32")}}}
	must(t, n.Start())
	const files, rounds = 64, 30
	var keys [rounds * files]string
	for i := range keys {
		keys[i] = publicKey(t)
	}
	start := time.Now()
	for r := range rounds {
		for i := range files {
			text := fmt.Sprintf("[[peer]]\nname = \"g%d-%d\"\npublic_key = %q\nallowed_ips = \"10.62.0.%d/32\"\nendpoints = \"%s:7777\"\n", r, i, keys[r*files+i], i, victim)
			dir.put(t, agentUser, fmt.Sprintf("g%d.toml", i), text)
		}
		time.Sleep(400 * time.Millisecond)
		if r == rounds/2 {
			must(t, far.Start())
		}
	}
	took := time.Since(start)
	most := int64(calleeBurst + calleeRate*(took+time.Second).Seconds())
	t.Logf("%d KiB in %v, at most %d", got.Load()>>10, took, most>>10)
	if got.Load() > most || got.Load() < calleeBurst/2 {
		t.Errorf("the address got %d bytes in %v, want at most %d", got.Load(), took, most)
	}
	if out, err := f.A(1).Run("ping", "-c", "2", "-W", "2", "10.61.0.2"); err != nil {
		t.Errorf("root's peer: %v: %s", err, out)
	}
	if raw, err := n.Show(); err != nil || !strings.Contains(string(raw), "call_limit") {
		t.Errorf("nothing counts it: %v", err)
	}
}
