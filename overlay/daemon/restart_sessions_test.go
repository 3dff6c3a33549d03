package daemon

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/uevent"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/handover"
)

// farText is the other end of the peer "near".
const farText = `
[interface]
name = "srdd1"
private_key = "%s"
address = ["10.80.9.1/32"]
listen_port = 5999
[paths]
source_ports = 2
port_range = "6020-6029"
[[peer]]
name = "first"
public_key = "%s"
allowed_ips = ["10.80.9.2/32"]
`

func otherEnd(t *testing.T) *config.Config {
	t.Helper()
	private := make([]byte, 32)
	private[0], private[31] = 16, 64
	c, err := config.Parse("srdd1.toml", fmt.Appendf(nil, farText, base64.StdEncoding.EncodeToString(private), key(t, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// met waits until r has a session with the peer of a name and working paths.
func (r *running) met(name string) control.Peer {
	r.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, p := range r.server.status.show().Peers {
			if p.Name == name && p.Cipher != "" && len(p.Paths) > 0 && p.Paths[0].State == "active" {
				return p
			}
		}
	}
	r.t.Fatalf("no session with %s", name)
	return control.Peer{}
}

// handshakes returns how many r has made with its first peer.
func (r *running) handshakes() uint64 {
	p := r.server.running.peers()[0]
	p.link.Lock()
	defer p.link.Unlock()
	return p.link.Conn().Stats().Handshakes
}

// after runs the process that follows one which ends and passes on what change leaves of it.
func (r *running) after(k *keeper, c *config.Config, change func(*handover.Bundle)) *running {
	r.t.Helper()
	r.cancel()
	r.wait()
	if k.got == nil || k.got.State.Kept == nil || len(k.got.Sessions) == 0 {
		r.t.Fatal("no session was passed on")
	}
	if change != nil {
		change(k.got)
	}
	before := k.got.Sessions
	next := upWith(r.t, Options{Config: c, Before: k.got, Store: &keeper{}})
	if strings.Trim(string(before), "\x00") != "" {
		r.t.Error("the keys were not overwritten")
	}
	return next
}

// The next process goes on with the session: neither side shakes hands, and the time of the
// last handshake stays. Whatever does not fit makes a new one, and the log says why.
func TestSessionsGoOn(t *testing.T) {
	for _, c := range []struct {
		name   string
		config []string // old and new
		change func(*handover.Bundle)
		want   string // in the log; "": it goes on
	}{
		{name: "it goes on"},
		{name: "another key of ours", config: []string{`"CAAAAA`, `"CAAAAB`}, want: "others"},
		{name: "a preshared key", config: []string{"\nendpoints = [\"127.0.0.1:5999\"]", "\npreshared_key = \"" + strings.Repeat("A", 42) + "E=\"\nendpoints = [\"127.0.0.1:5999\"]"}, want: "others"},
		{name: "another setup", config: []string{"source_ports = 4", "source_ports = 3"}, want: "device and sockets are made anew"},
		{name: "another cipher", config: []string{"[paths]", "[transport]\ncipher = \"aes-128-gcm\"\n[paths]"}, want: "its cipher is not to be used"},
		{name: "a copied machine", change: func(*handover.Bundle) { uevent.Send(uevent.VMGenID...) }, want: "is a copy"},
		{name: "what cannot tell of it", change: func(b *handover.Bundle) { unix.Dup3(b.UDP[0], b.Machine[0], unix.O_CLOEXEC) }, want: "does not tell"},
		{name: "without it", change: func(b *handover.Bundle) { unix.Close(b.Machine[0]); b.Machine = nil }, want: "does not tell"},
		{name: "a clock that went back", change: func(b *handover.Bundle) { b.State.Kept.Boot *= 2 }, want: "the clock went back"},
		{name: "too old", change: func(b *handover.Bundle) { b.State.Kept.Boot -= int64(180 * time.Second) }, want: "too old"},
		{name: "another prefix", change: func(b *handover.Bundle) { b.State.Kept.Prefix++ }, want: "its receiver index is taken"},
		{name: "cut short", change: func(b *handover.Bundle) { b.Sessions = b.Sessions[:len(b.Sessions)-1] }, want: "the sessions are damaged"},
		{name: "refused before", change: func(b *handover.Bundle) { b.Wipe(); b.Without = "somebody has them" }, want: "somebody has them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			runDir(t)
			other := up(t, otherEnd(t))
			k := &keeper{expected: true}
			first := upWith(t, Options{Config: parse(t), Store: k})
			was := first.met("near")
			other.met("first")
			met := other.handshakes()
			next := first.after(k, parse(t, c.config...), c.change)
			if c.want != "" {
				next.said(events.Fallback, c.want)
				if next.server.status.show().Peers[0].LatestHandshakeUnixS != 0 && next.handshakes() == 0 {
					t.Error("the session goes on all the same")
				}
			} else {
				now := next.met("near")
				// It is rounded to seconds.
				if d := now.LatestHandshakeUnixS - was.LatestHandshakeUnixS; d < -1 || d > 1 || next.handshakes() != 0 || other.handshakes() != met {
					t.Errorf("handshakes: %d here, %d more there; at %d, was at %d", next.handshakes(), other.handshakes()-met, now.LatestHandshakeUnixS, was.LatestHandshakeUnixS)
				}
				if n := other.count(events.PeerRestarted); n != 0 {
					t.Error("the peer tells of a restart")
				}
				next.said(events.UplinkUp, "") // so it has looked at its peers
				if n := next.count(events.SessionUp); n != 0 {
					t.Errorf("it tells of a session that came up: %q", texts(next.story))
				}
				if n := next.count(events.Fallback); n != first.count(events.Fallback) {
					t.Errorf("it tells %q", texts(next.story))
				}
			}
			for _, r := range []*running{next, other} {
				r.cancel()
				r.wait()
			}
		})
	}
}
