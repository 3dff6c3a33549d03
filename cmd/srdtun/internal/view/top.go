package view

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/srdtun/srdtun/overlay/control"
)

// Top is the live screen of one interface; Feed updates its data, and Frame draws it. The live
// screen shows one peer at a time, with its paths grouped by pairs of addresses or one by one.
type Top struct {
	Colour bool
	ASCII  bool // the terminal shows only ASCII

	status  *control.Status
	at      time.Time
	trouble string // why there is no newer status; "": there is one
	peer    int
	single  bool // show paths one by one
	scroll  int
	history *history
	of      string // public key of the peer to which the history belongs
}

// Feed stores the latest status.
func (t *Top) Feed(at time.Time, st *control.Status) {
	t.status, t.at, t.trouble = st, at, ""
	t.peer = max(0, min(t.peer, len(st.Peers)-1))
	if len(st.Peers) == 0 {
		return
	}
	p := &st.Peers[t.peer]
	if t.history == nil || t.of != p.PublicKey {
		t.history, t.of = newHistory(), p.PublicKey
	}
	t.history.note(at, p)
}

// Fail stores the reason why there is no newer status. After a failure, the last status stays on
// the screen.
func (t *Top) Fail(why string) { t.trouble = why }

// Next switches to the peer n positions later in the list.
func (t *Top) Next(n int) {
	if t.status == nil || len(t.status.Peers) == 0 {
		return
	}
	m := len(t.status.Peers)
	t.peer, t.scroll = ((t.peer+n)%m+m)%m, 0
	t.Feed(t.at, t.status)
}

// Toggle switches between address pairs and single paths.
func (t *Top) Toggle() { t.single, t.scroll = !t.single, 0 }

// Scroll moves the list by n lines, down if n is positive.
func (t *Top) Scroll(n int) { t.scroll = max(0, t.scroll+n) }

// Frame draws the screen, with at most `height` lines of `width` characters.
func (t *Top) Frame(width, height int) string {
	if t.status == nil {
		return clip(t.trouble, width)
	}
	lines := t.head(width)
	body := t.body(width)
	room := max(1, height-len(lines)-1)
	t.scroll = max(0, min(t.scroll, len(body)-room))
	shown := body[t.scroll:min(len(body), t.scroll+room)]
	lines = append(lines, shown...)
	for len(lines) < height-1 {
		lines = append(lines, "")
	}
	lines = append(lines[:max(0, min(len(lines), height-1))], t.style(styleBold, t.foot(width, len(body)-t.scroll-len(shown))))
	return strings.Join(lines, "\n")
}

// foot returns the last line. It has the keys of the keyboard, and the number of lines below the
// screen. On a narrow screen, it first drops the keys that users can guess.
func (t *Top) foot(width, more int) string {
	quit, paths, rest := "q quit", "p single paths", ""
	if t.single {
		paths = "p pairs of addresses"
	}
	if more > 0 {
		rest = fmt.Sprintf("%d more", more)
	}
	for _, keys := range [][]string{{quit, paths, "tab next peer", "up, down scroll", rest}, {quit, paths, "tab next peer", rest}, {quit, paths, rest}, {quit, rest}} {
		if rest == "" {
			keys = keys[:len(keys)-1]
		}
		if foot := strings.Join(keys, between); utf8.RuneCountInString(foot) <= width {
			return foot
		}
	}
	return clip(quit, width)
}

func (t *Top) style(code, s string) string {
	if !t.Colour {
		return s
	}
	return code + s + styleReset
}

func (t *Top) glyphs() *glyphs {
	if t.ASCII {
		return &ascii
	}
	return &blocks
}

// head returns the lines that do not scroll. They show the interface, the peer, what limits
// sending, and a fault.
func (t *Top) head(width int) []string {
	st := t.status
	left := fmt.Sprintf("%s up %s", st.Interface, short(time.Duration(st.UptimeS)*time.Second))
	if len(st.Peers) == 0 {
		return []string{apart([]string{left, st.Interface}, []string{t.at.Format(time.TimeOnly), ""}, width), clip("no peers", width)}
	}
	p := &st.Peers[t.peer]
	tx, rx := t.history.rates()
	up, all := Up(p.Paths)
	rates := fmt.Sprintf("sends %s, receives %s", Rate(tx), Rate(rx))
	works := fmt.Sprintf("%d of %d paths up", up, all)
	named := func(n int) string {
		return fmt.Sprintf("peer %s (%d of %d)", cut(Title(p), n), t.peer+1, len(st.Peers))
	}
	lines := []string{
		t.style(styleBold, apart([]string{left, st.Interface}, []string{rates + between + t.at.Format(time.TimeOnly), rates, ""}, width)),
		apart([]string{named(math.MaxInt), named(nameMost), named(nameLeast), cut(Title(p), nameLeast)},
			[]string{works + ", " + p.Policy, works, fmt.Sprintf("%d/%d up", up, all)}, width),
	}
	lines = append(lines, wrap("limited by: "+LimitedBy(p), width)...)
	for _, line := range wrap(t.wrong(p), width) {
		lines = append(lines, t.style(styleRed, line))
	}
	return lines
}

// If a line is too long, head cuts the peer's name or key to nameMost characters, and then to
// nameLeast.
const (
	nameMost  = 24
	nameLeast = 9
)

// wrong returns a fault of p or of the daemon, or "" if there is none.
func (t *Top) wrong(p *control.Peer) string {
	if t.trouble != "" {
		return t.trouble
	}
	one := control.Status{UptimeS: t.status.UptimeS, Peers: []control.Peer{*p}}
	v := Troubles(&one, t.at)
	switch len(v) {
	case 0:
		return ""
	case 1:
		return v[0]
	}
	return fmt.Sprintf("%s, and %d more", v[0], len(v)-1)
}

// short prints a duration in a few characters: "3d02h", "1h05m", "42s".
func short(d time.Duration) string {
	switch h := int(d.Hours()); {
	case h >= 24:
		return fmt.Sprintf("%dd%02dh", h/24, h%24)
	case h > 0:
		return fmt.Sprintf("%dh%02dm", h, int(d.Minutes())%60)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%ds", int(d.Seconds()))
}

// body returns the lines that scroll: paths or pairs of addresses.
func (t *Top) body(width int) []string {
	if len(t.status.Peers) == 0 {
		return nil
	}
	groups := Groups(t.status.Peers[t.peer].Paths)
	if len(groups) == 0 {
		return []string{"no paths yet"}
	}
	if t.single {
		return t.pathLines(groups, width)
	}
	return t.groupLines(groups, width)
}

// groupLines returns two lines for each pair of addresses: its figures, and a character for each
// path.
func (t *Top) groupLines(groups []Group, width int) []string {
	var all Sent
	for _, g := range groups {
		all.Bytes += t.history.sent(g.Paths).Bytes
	}
	v := table{columns: []column{address("from"), address("to"), number("up", 0), number("rtt", 1), words("last 20 s", 4), number("share", 3), number("lost", 2)}}
	for i := range groups {
		g := &groups[i]
		s := t.history.sent(g.Paths)
		v.add(g.Local, g.Remote, fmt.Sprintf("%d/%d", g.Up, len(g.Paths)), orDash(g.RTTUs), t.spark(t.history.groups[groupKey(g)], samplesMost), percent(s.Bytes, all.Bytes), percent(s.Lost, s.Packets))
	}
	blocks := v.blocks(width)
	out := t.styled(styleBold, blocks[0])
	for i, g := range groups {
		lines := blocks[i+1]
		switch {
		case g.Up == 0:
			lines = t.styled(styleRed, lines)
		case g.Up < len(g.Paths):
			lines = t.styled(styleYellow, lines)
		}
		out = append(append(out, lines...), t.strip(g.Paths, width)...)
	}
	return out
}

func (t *Top) styled(code string, lines []string) []string {
	v := make([]string, len(lines))
	for i, line := range lines {
		v[i] = t.style(code, line)
	}
	return v
}

// spark draws the last n round trips of a path in n characters.
func (t *Top) spark(s *samples, n int) string {
	line := ""
	if s != nil {
		line = t.glyphs().spark(s.v, n)
	}
	return strings.Repeat(" ", n-utf8.RuneCountInString(line)) + line
}

// roomy is the smallest width of a terminal, in characters, that has room for two addresses with
// ports and for all round trips.
const roomy = 92

// marks has the character for each state of a path.
var marks = map[string]string{control.PathActive: "#", control.PathSuspect: "?", control.PathDown: "x"}

var markColour = map[string]string{control.PathActive: styleGreen, control.PathSuspect: styleYellow, control.PathDown: styleRed}

// strip returns lines with one character for each path, which shows the path's state: up, silent or
// down.
func (t *Top) strip(paths []control.Path, width int) (lines []string) {
	const indent = "  "
	for row := range slices.Chunk(paths, max(1, width-len(indent))) {
		var b strings.Builder
		b.WriteString(indent)
		for len(row) > 0 { // paths of one state together, to save escape sequences
			n := 1
			for n < len(row) && row[n].State == row[0].State {
				n++
			}
			b.WriteString(t.style(markColour[row[0].State], strings.Repeat(marks[row[0].State], n)))
			row = row[n:]
		}
		lines = append(lines, b.String())
	}
	return lines
}

// pathLines returns a line for each path, with faulty paths first.
func (t *Top) pathLines(groups []Group, width int) []string {
	var paths []control.Path
	for _, g := range groups {
		paths = append(paths, g.Paths...)
	}
	slices.SortStableFunc(paths, func(a, b control.Path) int { return rank(a.State) - rank(b.State) })
	all := t.history.sent(paths)
	n := samplesMost
	if width < roomy {
		n /= 2
	}
	v := table{columns: []column{words("", 0), number("slot", 4), address("from"), address("to"), number("rtt", 1), words(fmt.Sprintf("last %d s", n), 5), number("share", 3), number("lost", 2)}}
	for i := range paths {
		p := &paths[i]
		s := t.history.sent(paths[i : i+1])
		v.add(marks[p.State], fmt.Sprint(p.Slot), p.From(), p.Remote, orDash(p.SRTTUs), t.spark(t.history.paths[keyOf(p)], n), percent(s.Bytes, all.Bytes), percent(s.Lost, s.Packets))
	}
	blocks := v.blocks(width)
	out := t.styled(styleBold, blocks[0])
	for i, p := range paths {
		lines := blocks[i+1]
		if p.State != control.PathActive {
			lines = t.styled(markColour[p.State], lines)
		}
		out = append(out, lines...)
	}
	return out
}

// rank orders the states of paths, with failed states first.
func rank(state string) int {
	switch state {
	case control.PathDown:
		return 0
	case control.PathSuspect:
		return 1
	}
	return 2
}
