package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// recordMark begins the line of a member's file that contains the member's record. With this line a
// later process can check the record against its own policy, even while the store is unreachable.
const recordMark = "# record "

// file returns the daemon's drop-in file for a member. Names, keys, addresses and prefixes need no
// escapes in TOML. The record is one line of JSON, in which line ends are escaped.
func (m *member) file() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Written by the fleet's agent, which undoes changes.\n%s%d %s\n[[peer]]\n", recordMark, m.born, m.rec.Format())
	fmt.Fprintf(&b, "name = %q\npublic_key = %q\n", m.rec.Name, m.rec.PublicKey)
	if outer := m.outer(); len(outer) > 0 {
		fmt.Fprintf(&b, "endpoints = %s\n", quoted(outer))
	}
	if len(m.rec.AllowedIPs) > 0 {
		fmt.Fprintf(&b, "allowed_ips = %s\n", quoted(m.rec.AllowedIPs))
	}
	if !m.right.expires.IsZero() {
		// At the time `expires`, the daemon removes the peer, even if the agent no longer runs.
		fmt.Fprintf(&b, "expires = %q\n", stamp(m.right.expires))
	}
	return b.Bytes()
}

// errNotOurs means that no agent has written the file.
var errNotOurs = errors.New("not a file of the fleet's agent")

// ParseFile returns the entry in the text of a drop-in file.
func ParseFile(name string, data []byte) (Entry, error) {
	for line := range strings.Lines(string(data[:min(len(data), 2*MaxRecord)])) {
		rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), recordMark)
		if !ok {
			continue
		}
		born, record, ok := strings.Cut(rest, " ")
		n, err := strconv.ParseUint(born, 10, 64)
		if !ok || err != nil {
			return Entry{}, errNotOurs
		}
		return Entry{Name: name, Value: []byte(record), Born: n}, nil
	}
	return Entry{}, errNotOurs
}
