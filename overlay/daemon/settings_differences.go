package daemon

import (
	"fmt"
	"unicode/utf8"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
)

// Bounds of the differences in one answer. A client refuses an answer of more than 16 MiB, and
// JSON takes up to six bytes for one.
const (
	// differencesBytes bounds their texts together.
	differencesBytes = 2 << 20
	// guestDifferences bounds the changes of guests: an owner may change 4,096 peers at once.
	guestDifferences = 20
	// guestDifferenceBytes bounds the text of one, since a guest's file has up to 64 KiB.
	guestDifferenceBytes = 1 << 10
)

// differences returns changes for the caller of a change. One line counts the changes that have no
// room.
func differences(diff []config.Change) (v []control.Difference) {
	guests, left, bytes := 0, 0, 0
	live := true
	for _, c := range diff {
		d := difference(c)
		if c.Guest {
			guests++
			d.Text = cut(d.Text, guestDifferenceBytes)
		}
		if bytes+len(d.Text) > differencesBytes || c.Guest && guests > guestDifferences {
			left, live = left+1, live && d.Live
			continue
		}
		bytes += len(d.Text)
		v = append(v, d)
	}
	switch {
	case left > 0 && live:
		v = append(v, control.Difference{Text: fmt.Sprintf("~ %d more changes", left), Live: true})
	case left > 0:
		v = append(v, control.Difference{Text: fmt.Sprintf("! %d more changes (some need a restart)", left)})
	}
	return v
}

// difference returns one change for a reader.
func difference(c config.Change) control.Difference {
	d := control.Difference{Text: c.String(), Key: c.Key, Live: c.Live}
	if !c.Live {
		d.Text = "! " + d.Text[len("~ "):] + " (needs a restart)"
	}
	return d
}

// cut shortens a text to at most n bytes and a mark.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "..."
}
