package config

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/internal/peerid"
)

// wgComment is a comment on a separate line in a wg-quick file.
type wgComment struct {
	text  string
	apart bool // there is an empty line above it
}

// remember stores a comment until its section is known.
func (im *importer) remember(note string) {
	if note = strings.TrimSpace(note); note != "" {
		im.pending = append(im.pending, wgComment{note, im.blank})
	}
}

var (
	// wgEnd matches a comment at the end of a peer, such as PiVPN's "### end NAME ###" or "#
	// END_PEER NAME".
	wgEnd = regexp.MustCompile(`(?i)^#*\s*end[ _]`)
	// wgOff matches the header of a section that is commented out, and wgOffKey matches a key in
	// such a section.
	wgOff    = regexp.MustCompile(`(?i)^#*\s*\[(peer|interface)\]`)
	wgOffKey = regexp.MustCompile(`(?i)^#*\s*(PublicKey|PresharedKey|PrivateKey|Endpoint|AllowedIPs|PersistentKeepalive|Address|DNS|MTU|Table|ListenPort|FwMark|P(ost|re)(Up|Down)|SaveConfig)\s*=`)
)

// place assigns the stored comments to sections. The importer calls place(s) when it meets the
// header or a key of the section s, and place(nil) at the end of the file. A comment directly below
// a header belongs to that section, and so does a comment directly above the header. Comments that
// are separated from headers, and peers that are commented out, keep their positions.
func (im *importer) place(next *wgSection) {
	comments := im.pending
	im.pending = nil
	if next != nil && next == im.at {
		next.remarks = append(next.remarks, commentTexts(comments)...)
		return
	}
	below := im.at != nil
	if end := lastComment(comments, wgEnd); below && end >= 0 {
		im.at.remarks = append(im.at.remarks, commentTexts(comments[:end+1])...)
		comments, below = comments[end+1:], false
	}
	for len(comments) > 0 {
		n := 1
		for n < len(comments) && !comments[n].apart {
			n++
		}
		block := comments[:n]
		last := n == len(comments)
		comments = comments[n:]
		above := last && next != nil && !im.blank
		if below && !block[0].apart {
			end := n
			if above {
				end = lastComment(block, wgOffKey) + 1
			}
			if lastComment(block[:end], wgOff) < 0 {
				im.at.remarks = append(im.at.remarks, commentTexts(block[:end])...)
				block = block[end:]
			}
		}
		below = false
		if off := lastComment(block, wgOff); above && off >= 0 {
			off = max(off, lastComment(block, wgOffKey))
			next.lead = append(next.lead, commentTexts(block[:off+1]))
			block = block[off+1:]
		}
		switch {
		case len(block) == 0:
		case next == nil:
			im.tail = append(im.tail, commentTexts(block)...)
		case above:
			next.remarks = append(next.remarks, commentTexts(block)...)
		default:
			next.lead = append(next.lead, commentTexts(block))
		}
	}
}

// lastComment returns the index of the last comment that the pattern `kind` matches, or -1.
func lastComment(comments []wgComment, kind *regexp.Regexp) int {
	for i, c := range slices.Backward(comments) {
		if kind.MatchString(c.text) {
			return i
		}
	}
	return -1
}

func commentTexts(comments []wgComment) (v []string) {
	for _, c := range comments {
		v = append(v, c.text)
	}
	return v
}

// wgNames match comments that contain the name of a peer. Several programs write comments with
// names:
//
//	### Client NAME                 wireguard-install
//	### begin NAME ###              PiVPN
//	# BEGIN_PEER NAME               Nyr's script
//	# Client: NAME (id)             wg-easy
//	# friendly_name = NAME          exporters of metrics
//	# NAME / mail / Updated: ...    wg-gen-web
//	#_Name = NAME                   people
var wgNames = []*regexp.Regexp{
	regexp.MustCompile(`(?i)^##+\s*(?:client|peer|user|begin)\s+(\S.*)$`),
	regexp.MustCompile(`(?i)^#*\s*begin_peer\s+(\S.*)$`),
	regexp.MustCompile(`(?i)^#*\s*(?:-WGP-\s*)?_?(?:friendly_?name|display[_ ]?name|name|client|peer|user|device)\s*[:=]\s*(\S.*?)(?:\s*\((?:\d+|[0-9a-f-]{8,})\))?$`),
	regexp.MustCompile(`^(\S.*?) /.*/ Updated: `),
}

// wgOneWord matches a comment of one word.
var wgOneWord = regexp.MustCompile(`^[\pL\pN][\pL\pN._@+-]*$`)

// wordsAreNames reports whether single words below headers are names, as algo writes them. Algo
// writes a different word below each peer's header, whereas a user's note such as "# gone" occurs
// only below some headers.
func (im *importer) wordsAreNames() bool {
	words := map[string]bool{}
	for _, p := range im.peers {
		if wgOneWord.MatchString(p.below) {
			words[p.below] = true
		}
	}
	return len(im.peers) > 1 && len(words) == len(im.peers)
}

// peerName returns the name of a peer from its comments, or "".
func (s *wgSection) peerName() string {
	texts := s.remarks
	if n := len(s.lead); n > 0 && !slices.ContainsFunc(s.lead[n-1], wgOff.MatchString) {
		texts = slices.Concat(s.lead[n-1], texts)
	}
	for _, t := range texts {
		for _, re := range wgNames {
			// The parser has removed the first "#" of the comment, so "###" is "##" here.
			if m := re.FindStringSubmatch(t); m != nil && !wgEnd.MatchString(t) {
				if name := cleanName(strings.Trim(m[1], "# \t\"")); name != "" {
					return name
				}
			}
		}
	}
	return ""
}

// cleanName converts a text into a peer's name: one line of printable characters. For a text that
// contains a key, cleanName returns "". If a text looks like an address, a prefix or an endpoint,
// cleanName changes the text or returns "".
func cleanName(text string) string {
	if _, err := netip.ParseAddr(text); err == nil || keytext.Shape.MatchString(text) {
		return ""
	}
	name := printableName(text)
	if peerid.CheckName(name) != nil {
		name = printableName("peer-" + strings.NewReplacer(":", "-", "/", "-").Replace(strings.Trim(name, "[] ")))
	}
	if peerid.CheckName(name) != nil {
		return ""
	}
	return name
}

// printableName returns one line of printable characters, cut to the maximum length of a name.
func printableName(text string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(text), " ") {
		if unicode.IsPrint(r) && !peerid.Invisible(r) && r != unicode.ReplacementChar && b.Len()+len(string(r)) <= maxNameBytes {
			b.WriteRune(r)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// namePeers gives each peer a distinct name, taken from its comments. Sections with the same key are
// one peer.
func (im *importer) namePeers() {
	seen := map[string]string{} // public keys
	words := im.wordsAreNames()
	for _, p := range im.peers {
		name := p.peerName()
		if name == "" && words {
			name = cleanName(p.below)
		}
		if name == "" {
			continue
		}
		key := p.field("public_key").value
		for n, base := 2, name; seen[name] != "" && seen[name] != key || peerid.CheckName(name) != nil; n++ {
			more := fmt.Sprintf("-%d", n)
			name = clipName(base, maxNameBytes-len(more)) + more
		}
		seen[name] = key
		p.fields = slices.Insert(p.fields, 0, &wgField{key: "name", word: "[Peer]", line: p.line, value: inTOML(name)})
	}
}

// clipName returns the beginning of a name, without cutting a character in two.
func clipName(name string, most int) string {
	for len(name) > most {
		r := []rune(name)
		name = string(r[:len(r)-1])
	}
	return name
}
