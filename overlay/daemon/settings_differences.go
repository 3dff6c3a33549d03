package daemon

import (
	"fmt"
	"unicode/utf8"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
)

// These limits apply to the differences in one reply to a client. A client refuses a reply above
// 16 MiB, and JSON may take six bytes for one byte of text.
const (
	// differencesBytes bounds the total length of the differences' texts, in bytes.
	differencesBytes = 2 << 20
	// guestDifferences bounds the number of changes of guests, because a user may change 4,096
	// peers in one change.
	guestDifferences = 20
	// guestDifferenceBytes bounds the text of one change of a guest in bytes, because a guest's
	// file has up to 64 KiB.
	guestDifferenceBytes = 1 << 10
)

// differences converts changes for the reply to a client. The last line counts the changes that
// are left out because of the limits.
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

func difference(c config.Change) control.Difference {
	d := control.Difference{Text: c.String(), Key: c.Key, Live: c.Live}
	if !c.Live {
		d.Text = "! " + d.Text[len("~ "):] + " (needs a restart)"
	}
	return d
}

func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "..."
}
