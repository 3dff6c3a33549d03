package view

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

// These constants are the terminal's escape sequences that wg uses, and one for faults.
const (
	styleReset  = "\x1b[0m"
	styleBold   = "\x1b[1m"
	styleGreen  = "\x1b[32m"
	styleYellow = "\x1b[33m"
	styleRed    = "\x1b[31m"
)

// Options are the display options of a screen.
type Options struct {
	Colour bool
	Now    time.Time
	Full   bool // every path and every counter
}

// screenWidth is the width of the short screens in characters, the usual width of terminals since
// the VT100.
const screenWidth = 80

// groupsMost bounds the number of lines for address pairs on the short screen. The pairs with the
// fewest active paths come first, and the last line has the number of the hidden pairs.
const groupsMost = 5

// text prints states for people, first with wg's lines in wg's layout, and then with srdtun's own
// lines.
type text struct {
	Options
	w *bufio.Writer
}

// Text prints the states of interfaces. The short form of one peer fits a screen of 24 lines of
// 80 characters, whatever the number of paths.
func Text(out io.Writer, list []*control.Status, o Options) error {
	t := &text{Options: o, w: bufio.NewWriter(out)}
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
	if !t.Colour {
		return s
	}
	return code + s + styleReset
}

// heading prints the first line of an interface or a peer.
func (t *text) heading(colour, kind, name string) {
	t.line(t.style(colour+styleBold, kind) + ": " + t.style(colour, name))
}

// field prints an indented line with a bold label.
func (t *text) field(label, format string, args ...any) {
	t.line("  " + t.style(styleBold, label) + ": " + fmt.Sprintf(format, args...))
}

// list prints a field that has several parts. On the short screen it prints only as many parts as
// fit.
func (t *text) list(label string, parts []string) {
	if len(parts) == 0 {
		return
	}
	if !t.Full {
		parts = shorten(parts, screenWidth-len(label)-len("  : "))
	}
	t.field(label, "%s", strings.Join(parts, ", "))
}

// shorten returns as many parts as fit into `width` characters with commas between them, and a last
// part with the number of the others. It keeps at least the first part, even if that is too long. A
// list may have 65,536 parts, so shorten() reads only the parts that fit.
func shorten(parts []string, width int) []string {
	fits := 1 // number of parts that fit, together with the count of the others
	for n, used := 1, 0; n <= len(parts); n++ {
		if used += len(parts[n-1]) + len(", "); used-len(", ") > width {
			break
		}
		if n == len(parts) {
			return parts
		}
		if used+len(leftOut(len(parts)-n)) <= width {
			fits = n
		}
	}
	if fits == len(parts) {
		return parts // a single part, which is too long
	}
	return append(slices.Clone(parts[:fits]), leftOut(len(parts)-fits))
}

func leftOut(n int) string { return fmt.Sprintf("and %d more", n) }

func (t *text) iface(st *control.Status) {
	t.heading(styleGreen, "interface", st.Interface)
	t.field("public key", "%s", st.PublicKey)
	t.field("private key", hidden)
	if st.ListenPort != 0 {
		t.field("listening port", "%d", st.ListenPort)
	}
	t.differences(st)
	t.conflicts(st)
	t.faults(st)
	t.list("expired peers", expiredPeers(st))
	if st.FwMark != 0 {
		t.field("fwmark", "%s", mark(st.FwMark))
	}
	t.field("mtu", "%d, cipher %s, version %s, up for %s", st.MTU, st.Cipher, st.Version, short(time.Duration(st.UptimeS)*time.Second))
	t.list("fallbacks", fallbacks(st))
	t.drops(st.Drops)
	peers := slices.Clone(st.Peers)
	// Peers are sorted by handshake time, the latest first, as in wg.
	slices.SortStableFunc(peers, func(a, b control.Peer) int {
		return cmp.Compare(b.LatestHandshakeUnixS, a.LatestHandshakeUnixS)
	})
	for i := range peers {
		t.line("")
		t.peer(&peers[i])
	}
}

// fallbacks returns a line for each feature that works in a slower mode.
func fallbacks(st *control.Status) []string {
	parts := slices.Clone(st.Device.Problems)
	if st.Device.NoOffload {
		parts = append(parts, "offload is off in the configuration")
	}
	if st.Device.Singly() {
		parts = append(parts, count(int(st.Device.ReadSingles), "TCP packet")+" read one by one: see srdtun doctor")
	}
	if n := st.Device.CopiedFrames; n > 0 {
		parts = append(parts, count(int(n), "frame")+" copied for the device")
	}
	if n := st.Sends.Unsegmented; n > 0 {
		parts = append(parts, count(int(n), "train")+" sent packet by packet")
	}
	if !st.Receives.Merged {
		parts = append(parts, "received packet by packet")
	}
	return parts
}

// peer prints wg's lines of a peer, then srdtun's own.
func (t *text) peer(p *control.Peer) {
	name := ""
	if p.Name != "" {
		name = " (" + p.Name + ")"
	}
	t.heading(styleYellow, "peer", p.PublicKey+name)
	if p.HasPresharedKey {
		t.field("preshared key", hidden)
	}
	if e := cmp.Or(p.Endpoint, p.HeardFrom); e != "" {
		t.field("endpoint", "%s", e)
	}
	t.list("allowed ips", orNoneOf(p.AllowedIPs))
	if p.LatestHandshakeUnixS != 0 {
		t.field("latest handshake", "%s", t.ago(p.LatestHandshakeUnixS))
	}
	for _, fault := range []string{p.NoWay, p.SessionFault} {
		if fault != "" {
			t.field(t.style(styleRed, "fault"), "%s", fault)
		}
	}
	switch {
	case p.SessionFault != "":
		// Packets of the peer arrive.
	case p.LeftUnixS != 0:
		t.field("left", "%s: the peer ended the session", t.style(styleRed, t.ago(p.LeftUnixS)))
	case p.SilentSinceUnixS != 0:
		t.field("no answer since", "%s", t.style(styleRed, t.ago(p.SilentSinceUnixS)))
	}
	if p.RxBytes|p.TxBytes != 0 {
		t.field("transfer", "%s received, %s sent", Bytes(p.RxBytes), Bytes(p.TxBytes))
	}
	if p.PersistentKeepaliveS != 0 {
		t.field("persistent keepalive", "every %s", Duration(time.Duration(p.PersistentKeepaliveS)*time.Second))
	}
	t.paths(p)
	t.field("limited by", "%s", LimitedBy(p))
	if n := narrow(p); n != nil {
		t.field("path mtu", "%d from %s to %s, so all packets are small", n.MTU, n.Uplink(), host(n.Remote))
	}
	if t.Full {
		t.counters(p)
	}
	t.drops(p.Drops)
}

func orNoneOf(v []string) []string {
	if len(v) == 0 {
		return []string{none}
	}
	return v
}

// paths prints the number of paths, and a line for each pair of addresses.
func (t *text) paths(p *control.Peer) {
	up, all := Up(p.Paths)
	parts := []string{fmt.Sprintf("%d of %d up", up, all)}
	for _, s := range []string{p.Policy, p.Cipher} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	t.field("paths", "%s", strings.Join(parts, ", "))
	groups := Groups(p.Paths)
	if len(groups) == 0 {
		return
	}
	more := 0
	if !t.Full && len(groups) > groupsMost {
		slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Compare(a.Up*len(b.Paths), b.Up*len(a.Paths)) })
		more = len(groups) - groupsMost + 1
	}
	var sum uint64
	for _, g := range groups {
		sum += g.Sent.Bytes
	}
	g := table{columns: []column{address("from"), address("to"), number("up", 0), number("rtt", 1), number("sent", 3), number("lost", 2)}}
	for _, v := range groups[:len(groups)-more] {
		g.add(v.Local, v.Remote, fmt.Sprintf("%d/%d", v.Up, len(v.Paths)), orDash(v.RTTUs), percent(v.Sent.Bytes, sum), percent(v.Sent.Lost, v.Sent.Packets))
	}
	t.table(&g, screenWidth)
	if more > 0 {
		t.line(fmt.Sprintf("    and %d pairs of addresses more; \"srdtun show paths\" has all", more))
	}
}

func orDash(us int64) string {
	if us == 0 {
		return "-"
	}
	return Micros(us)
}

// table prints an indented table, in at most `width` characters. A `width` of 0 means no limit.
func (t *text) table(v *table, width int) {
	const indent = "    "
	if width > 0 {
		width -= len(indent)
	}
	for i, lines := range v.blocks(width) {
		for _, line := range lines {
			if i == 0 {
				line = t.style(styleBold, line)
			}
			t.line(indent + line)
		}
	}
}

// counters prints every path and every counter of a peer.
func (t *text) counters(p *control.Peer) {
	t.pathTable(p.Paths)
	if p.HeardFrom != "" {
		t.field("heard from", "%s", p.HeardFrom)
	}
	t.list("configured endpoints", p.Endpoints)
	t.field("window", "%s in flight of %s, pacing %s, delivering %s",
		Bytes(p.BytesInFlight), Bytes(p.CwndBytes), orOff(p.RateBytesPerS), Rate(p.DeliveredBytesPerS))
	m := p.Messages
	t.field("messages", "%d sent, %d acked, %d resent, %d spurious, %d given up, %d duplicates, %d copied",
		m.Sent, m.Acked, m.Retransmitted, m.Spurious, m.GivenUp, m.Duplicates, m.Copied)
	o := p.Order
	t.field("order", "%d frames held (%s), %d released by timeout, longest hold %s",
		o.HeldFrames, Bytes(o.HeldBytes), o.ReleasedByTimeout, Micros(o.LongestHoldUs))
	q := p.Queue
	t.field("queue", "%d frames (%s), %d marked, %d dropped", q.Frames, Bytes(q.Bytes), q.Marks, q.Drops)
}

// pathTable prints a table of all paths.
func (t *text) pathTable(paths []control.Path) {
	if len(paths) == 0 {
		return
	}
	v := table{columns: []column{
		number("slot", 0), words("state", 0), address("local"), address("remote"), number("srtt", 0),
		number("base", 0), number("queue", 0), number("mtu", 0), number("packets", 0), number("sent", 0),
		number("lost", 0), number("resent", 0), number("weight", 0),
	}}
	for _, p := range paths {
		v.add(fmt.Sprint(p.Slot), p.State, p.From(), p.Remote, Micros(p.SRTTUs), Micros(p.BaseRTTUs), Micros(p.QueueUs), fmt.Sprint(p.MTU),
			fmt.Sprint(p.SentPackets), Bytes(p.SentBytes), fmt.Sprint(p.Lost), fmt.Sprint(p.Retransmits), fmt.Sprintf("%.1f%%", float64(p.Weight)/10))
	}
	t.table(&v, 0)
}

// orOff formats a pacing rate. It returns "off" for 0, which means no pacing.
func orOff(bytesPerS uint64) string {
	if bytesPerS == 0 {
		return off
	}
	return Rate(bytesPerS)
}

// drops prints the reasons of drops that occurred, sorted by name. Reasons for which drops are
// normal are on a line of their own, and only on the full screen, unless applications lose packets
// by them.
func (t *text) drops(counts map[string]uint64) {
	var told, meant []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		switch n := counts[reason]; {
		case n == 0:
		case control.Told(reason):
			told = append(told, fmt.Sprintf("%s %d", reason, n))
		case t.Full:
			meant = append(meant, fmt.Sprintf("%s %d", reason, n))
		}
	}
	t.list("drops", told)
	t.list("dropped as intended", meant)
}

// ago returns the age of a time in wg's words.
func (t *text) ago(unixS int64) string {
	age := t.Now.Sub(time.Unix(unixS, 0)).Truncate(time.Second)
	switch {
	case age < 0:
		return "(System clock wound backward; connection problems may ensue.)"
	case age == 0:
		return "Now"
	}
	return Duration(age) + " ago"
}
