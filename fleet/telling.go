package fleet

import (
	"fmt"
	"time"
)

// Whoever can write to the discovery can have something refused as often as he likes, so
// lines about it are rationed, and counted.
const (
	// noticeBurst lines at once, as when a list is taken over that many are not in.
	noticeBurst = 32
	// noticeEvery is how often there is one more.
	noticeEvery = 2 * time.Second
	// maxSaid bounds the names of which it is known what was said last.
	maxSaid = MaxMembers
)

// telling is what is to be said of refused records. Its zero value is ready.
type telling struct {
	said    map[string]string // by name: why it was refused last
	notices []string
	spent   int       // lines of the burst
	at      time.Time // when one of them was given back last
	silent  uint64    // refusals since the last line that got none
}

// refuse notes why a record does not count. The same is said once.
func (t *telling) refuse(name string, why error, now time.Time) {
	name = shown(name)
	text := why.Error()
	if t.said[name] == text {
		return
	}
	if t.said == nil {
		t.said = map[string]string{}
	}
	if _, known := t.said[name]; known || len(t.said) < maxSaid {
		t.said[name] = text
	}
	t.say(fmt.Sprintf("%s is refused: %s", name, text), now)
}

// say has a line logged, if lines are not rationed.
func (t *telling) say(line string, now time.Time) {
	if n := int(now.Sub(t.at) / noticeEvery); n > 0 {
		t.spent, t.at = max(0, t.spent-n), now
	}
	if t.spent >= noticeBurst {
		t.silent++
		return
	}
	t.spent++
	if t.silent > 0 {
		line += fmt.Sprintf(" (and %d refusals that were not logged)", t.silent)
		t.silent = 0
	}
	t.notices = append(t.notices, line)
}

// forget: the name is in order again, or gone.
func (t *telling) forget(name string) { delete(t.said, shown(name)) }

// Notices returns what is worth a line in a log since the last call.
func (r *Roster) Notices() []string {
	v := r.told.notices
	r.told.notices = nil
	return v
}
