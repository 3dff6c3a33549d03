package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/srdtun/srdtun/overlay/control"
)

// The terminal's escape sequences that wg uses.
const (
	styleReset  = "\x1b[0m"
	styleBold   = "\x1b[1m"
	styleGreen  = "\x1b[32m"
	styleYellow = "\x1b[33m"
)

// text prints states for people: wg's lines first, in wg's layout, ours after.
type text struct {
	w      *bufio.Writer
	colour bool
	now    time.Time
}

func writeText(out io.Writer, list []*control.Status, colour bool) error {
	t := &text{w: bufio.NewWriter(out), colour: colour, now: time.Now()}
	for i, st := range list {
		if i > 0 {
			t.line("")
		}
		t.iface(st)
	}
	return t.w.Flush()
}

func (t *text) line(s string) { t.w.WriteString(s + "\n") }

func (t *text) style(code, s string) string {
	if !t.colour {
		return s
	}
	return code + s + styleReset
}

// heading starts an interface or a peer.
func (t *text) heading(colour, kind, name string) {
	t.line(t.style(colour+styleBold, kind) + ": " + t.style(colour, name))
}

// field prints one indented line with a bold label.
func (t *text) field(label, format string, args ...any) {
	t.line("  " + t.style(styleBold, label) + ": " + fmt.Sprintf(format, args...))
}

func (t *text) iface(st *control.Status) {
	t.heading(styleGreen, "interface", st.Interface)
	t.field("public key", "%s", st.PublicKey)
	t.field("private key", hidden)
	if st.ListenPort != 0 {
		t.field("listening port", "%d", st.ListenPort)
	}
	t.differences(st)
	if st.FwMark != 0 {
		t.field("fwmark", "%s", mark(st.FwMark))
	}
	t.field("mtu", "%d", st.MTU)
	t.field("cipher", "%s", st.Cipher)
	t.field("up for", "%s", duration(time.Duration(st.UptimeS)*time.Second))
	t.field("version", "%s", st.Version)
	t.fallbacks(st)
	t.drops(st.Drops)
	peers := slices.Clone(st.Peers)
	// The peer with the latest handshake first, as wg has it.
	slices.SortStableFunc(peers, func(a, b control.Peer) int {
		return cmp.Compare(b.LatestHandshakeUnixS, a.LatestHandshakeUnixS)
	})
	for _, p := range peers {
		t.line("")
		t.peer(p)
	}
}

// fallbacks says what works more slowly than it could, if anything.
func (t *text) fallbacks(st *control.Status) {
	parts := slices.Clone(st.Device.Problems)
	if n := st.Device.CopiedFrames; n > 0 {
		parts = append(parts, count(int(n), "frame")+" copied for the device")
	}
	if n := st.Sends.Unsegmented; n > 0 {
		parts = append(parts, count(int(n), "train")+" sent packet by packet")
	}
	if !st.Receives.Merged {
		parts = append(parts, "received packet by packet")
	}
	if len(parts) > 0 {
		t.field("fallbacks", "%s", strings.Join(parts, ", "))
	}
}

// peer prints wg's lines of a peer, then ours.
func (t *text) peer(p control.Peer) {
	t.heading(styleYellow, "peer", p.PublicKey)
	if p.HasPresharedKey {
		t.field("preshared key", hidden)
	}
	if p.Endpoint != "" {
		t.field("endpoint", "%s", p.Endpoint)
	}
	t.field("allowed ips", "%s", orNone(strings.Join(p.AllowedIPs, ", ")))
	if p.LatestHandshakeUnixS != 0 {
		t.field("latest handshake", "%s", t.ago(p.LatestHandshakeUnixS))
	}
	if p.SilentSinceUnixS != 0 {
		t.field("no answer since", "%s", t.ago(p.SilentSinceUnixS))
	}
	if p.RxBytes|p.TxBytes != 0 {
		t.field("transfer", "%s received, %s sent", byteCount(p.RxBytes), byteCount(p.TxBytes))
	}
	if p.PersistentKeepaliveS != 0 {
		t.field("persistent keepalive", "every %s", duration(time.Duration(p.PersistentKeepaliveS)*time.Second))
	}
	if p.Name != "" {
		t.field("name", "%s", p.Name)
	}
	if len(p.Endpoints) > 0 {
		t.field("configured endpoints", "%s", strings.Join(p.Endpoints, ", "))
	}
	t.transport(p)
}

// transport prints the lines that wg has no counterpart of.
func (t *text) transport(p control.Peer) {
	if p.Cipher != "" {
		t.field("session cipher", "%s", p.Cipher)
	}
	if p.Policy != "" {
		t.field("path policy", "%s", p.Policy)
	}
	t.paths(p.Paths)
	t.field("window", "%s in flight of %s, pacing %s, delivering %s",
		byteCount(p.BytesInFlight), byteCount(p.CwndBytes), orOff(p.RateBytesPerS), rate(p.DeliveredBytesPerS))
	m := p.Messages
	t.field("messages", "%d sent, %d acked, %d resent, %d spurious, %d given up, %d duplicates",
		m.Sent, m.Acked, m.Retransmitted, m.Spurious, m.GivenUp, m.Duplicates)
	o := p.Order
	t.field("order", "%d frames held (%s), %d released by timeout, longest hold %s",
		o.HeldFrames, byteCount(o.HeldBytes), o.ReleasedByTimeout, micros(o.LongestHoldUs))
	q := p.Queue
	t.field("queue", "%d frames (%s), %d marked, %d dropped", q.Frames, byteCount(q.Bytes), q.Marks, q.Drops)
	t.drops(p.Drops)
}

// orOff is a pacing rate; 0 means that nothing is paced.
func orOff(bytesPerS uint64) string {
	if bytesPerS == 0 {
		return off
	}
	return rate(bytesPerS)
}

// drops prints the reasons that occurred, sorted.
func (t *text) drops(counts map[string]uint64) {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[reason]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", reason, n))
		}
	}
	if len(parts) > 0 {
		t.field("drops", "%s", strings.Join(parts, ", "))
	}
}

// ago prints the age of a moment in wg's words.
func (t *text) ago(unixS int64) string {
	age := t.now.Sub(time.Unix(unixS, 0)).Truncate(time.Second)
	switch {
	case age < 0:
		return "(System clock wound backward; connection problems may ensue.)"
	case age == 0:
		return "Now"
	}
	return duration(age) + " ago"
}
