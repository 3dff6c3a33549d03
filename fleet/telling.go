package fleet

import (
	"fmt"
	"time"
)

// A user with write access to the store can cause any number of refusals. So the rate of log lines
// about refusals is limited, and suppressed lines are counted.
const (
	// noticeBurst is the number of lines that are allowed in one burst, for example when a new list
	// lacks many members.
	noticeBurst = 32
	// noticeEvery is the interval after which one more line is allowed.
	noticeEvery = 2 * time.Second
	// maxSaid bounds the number of names whose last line is stored.
	maxSaid = MaxMembers
)

// telling limits and stores the log lines about refused records. The zero value of telling is
// ready to use.
type telling struct {
	said    map[string]string // last logged reason of the refusal, by name
	notices []string
	spent   int       // number of used lines of the burst
	at      time.Time // time at which a line was last allowed again
	silent  uint64    // number of refusals without a line since the last line
}

// refuse records the reason why a record was refused. The log shows the same reason for the same
// name only once.
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

// say adds a line to the log if the rate limit allows it.
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

// forget deletes the stored reason for a name whose record is now valid or gone.
func (t *telling) forget(name string) { delete(t.said, shown(name)) }

// Notices returns the log lines since the last call.
func (r *Roster) Notices() []string {
	v := r.told.notices
	r.told.notices = nil
	return v
}
