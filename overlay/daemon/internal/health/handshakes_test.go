package health

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// Each step is a second after the one before. A session, or three minutes without a failure, ends
// the fault.
func TestWhyHandshakesFail(t *testing.T) {
	for name, steps := range map[string][]struct {
		change func(*srd.Session, *srd.Stats)
		after  time.Duration
		want   string // part of the reason
	}{
		"answers do not decrypt": {
			{func(_ *srd.Session, n *srd.Stats) { n.Drops[srd.DropHandshakeBad]++ }, time.Second, "do not decrypt"},
			{func(*srd.Session, *srd.Stats) {}, 2 * time.Minute, "do not decrypt"},
			{func(s *srd.Session, n *srd.Stats) { s.Ready, s.Since = true, 9; n.Handshakes++ }, time.Second, ""},
			{func(_ *srd.Session, n *srd.Stats) { n.Drops[srd.DropHandshakeBad]++ }, time.Second, ""}, // a forged one
		},
		"no cipher": {
			{func(_ *srd.Session, n *srd.Stats) { n.Drops[srd.DropCipher]++ }, time.Second, "transport.cipher"},
			{func(*srd.Session, *srd.Stats) {}, 4 * time.Minute, ""},
		},
		"answers are not confirmed": {
			{func(_ *srd.Session, n *srd.Stats) { n.Handshakes += 4 }, time.Second, ""},
			{func(_ *srd.Session, n *srd.Stats) { n.Handshakes++ }, 2 * time.Second, ""},
			{func(_ *srd.Session, n *srd.Stats) { n.Handshakes++ }, 5 * time.Second, "confirms no answer"},
			{func(*srd.Session, *srd.Stats) {}, 4 * time.Minute, ""},
		},
		"a bad line": {
			{func(_ *srd.Session, n *srd.Stats) { n.Handshakes += 2 }, time.Second, ""},
			{func(s *srd.Session, n *srd.Stats) { s.Ready, s.Since = true, 9; n.Handshakes++ }, time.Second, ""},
			{func(_ *srd.Session, n *srd.Stats) { n.Handshakes += 2 }, time.Minute, ""},
			{func(s *srd.Session, n *srd.Stats) { s.Since = 99; n.Handshakes++ }, time.Minute, ""},
		},
	} {
		var h Handshakes
		var s srd.Session
		var n srd.Stats
		now := mono.Time(time.Hour)
		h.Observe(now, s, &n)
		for i, step := range steps {
			step.change(&s, &n)
			now = now.Add(step.after)
			h.Observe(now, s, &n)
			if got := h.Why(now); (got == "") != (step.want == "") || !strings.Contains(got, step.want) {
				t.Errorf("%s, step %d: %q, want %q", name, i, got, step.want)
			}
		}
	}
}

// A peer that is restarted, or that moves, is no twin of itself.
func TestTwinsComeBack(t *testing.T) {
	at := func(i int) netip.AddrPort { return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 9) }
	for name, c := range map[string]struct {
		incarnations []uint64
		twins        bool
	}{
		"one":        {[]uint64{7, 7, 7}, false},
		"restarts":   {[]uint64{7, 8, 8, 9, 10, 11, 12}, false},
		"two":        {[]uint64{7, 8, 7}, true},
		"three":      {[]uint64{7, 8, 9, 7}, true},
		"restart, 2": {[]uint64{7, 8, 9, 9, 8}, true},
	} {
		var w Twins
		now := mono.Time(time.Hour)
		for i, n := range c.incarnations {
			now = now.Add(time.Second)
			w.Observe(now, srd.Session{Ready: true, Incarnation: n}, at(i))
			if len(w.seen) > hostsMost {
				t.Errorf("%s: %d are kept", name, len(w.seen))
			}
		}
		if why := w.Why(now); (why != "") != c.twins || c.twins && !strings.Contains(why, at(len(c.incarnations)-1).String()) {
			t.Errorf("%s: %q", name, why)
		}
		if why := w.Why(now.Add(faultFor + 1)); why != "" {
			t.Errorf("%s, later: %q", name, why)
		}
	}
}
