package loop

import (
	"bytes"
	"crypto/rand"
	"testing"
	"time"

	"github.com/srdtun/srdtun/internal/netspace"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/udp"
)

func TestThin(t *testing.T) {
	for _, k := range []struct{ came, share, want uint32 }{
		{0, 1, 1}, {floodMost, 1, 1}, {floodMost + 1, 1, 2}, {25_000, 1, 32}, {782, 32, 32}, {782, 64, 64},
		{floodMost / 16, 16, 8}, {0, 64, 32}, {0, 2, 1}, {1 << 31, thinnest, thinnest},
	} {
		if got := thin(k.came, k.share, floodSpan); got != k.want {
			t.Errorf("%d came of one in %d: next %d, want %d", k.came, k.share, got, k.want)
		}
	}
	if got := thin(floodMost, 1, floodSpan/8); got != 8 {
		t.Errorf("eight times too many: %d, want 8", got)
	}
	if got := thin(floodMost, 1, time.Hour); got != 1 {
		t.Errorf("those of an hour: %d, want 1", got)
	}
}

// Only at the flooded socket does the filter drop a part of the packets. Some time after
// the flood all packets pass again.
func TestFloodIsThinnedOut(t *testing.T) {
	var bank *udp.Bank
	netspace.New(t).Must(t, func() (err error) { bank, err = udp.Open(udp.Config{Ports: 2}); return err })
	defer bank.Close()
	l := &Loop{bank: bank, floods: newFloods(bank), endpoint: srd.NewEndpoint(new(handshake.Identity), rand.Reader)}
	l.table.init()
	w, f := &worker{loop: l}, l.floods
	initiation, garbage := make([]byte, handshake.InitiationSize), make([]byte, 1000)
	initiation[0] = 0x21
	cookied := bytes.Clone(initiation)
	cookied[len(cookied)-16] = 1
	told := func() bool {
		select {
		case <-f.begun:
			return true
		default:
			return false
		}
	}
	for _, k := range []struct {
		what  string
		b     []byte
		train bool
		want  udp.Shares
	}{
		{"initiations", initiation, false, udp.Shares{Initiations: 4, Cookies: 1, Trains: 1}},
		{"initiations with cookies", cookied, false, udp.Shares{Initiations: 1, Cookies: 4, Trains: 1}},
		{"garbage in trains", garbage, true, udp.Shares{Initiations: 1, Cookies: 1, Trains: 4}},
		{"garbage of which the filter has refused most", garbage, false, all},
	} {
		flooded := k.want != all
		for range 4 * floodMost {
			w.stranger(srd.Tuple{Sock: 0}, k.b, k.train)
		}
		if told() != flooded {
			t.Errorf("%s: told %v", k.what, !flooded)
		}
		f.looked = time.Now().Add(-floodSpan)
		if calm := f.adapt(); calm == flooded || f.of[0].shares != k.want || f.of[1].shares != all {
			t.Errorf("%s: calm %v, %+v", k.what, calm, f.of)
		}
		f.adapt()
		if calm := f.adapt(); !calm {
			t.Errorf("%s: not calm afterwards: %+v", k.what, f.of)
		}
	}
}

// The worker waits for more strangers' packets only in a flood, and only if no peer had
// work for some time.
func TestPauseInFlood(t *testing.T) {
	const now = mono.Time(time.Second)
	for _, k := range []struct {
		what   string
		flood  bool
		taken  int
		useful bool
		used   mono.Time
		want   bool
	}{
		{"a flood at an idle host", true, 1, false, now.Add(-floodQuiet), true},
		{"no flood", false, 1, false, 0, false},
		{"a timer", true, 0, false, 0, false},
		{"a peer's packet in the round", true, 2, true, 0, false},
		{"a peer's packet just before", true, 1, false, now.Add(1 - floodQuiet), false},
	} {
		w := &worker{loop: &Loop{floods: new(floods)}, taken: k.taken, useful: k.useful, used: k.used}
		w.loop.floods.on.Store(k.flood)
		if got := w.lone(now); got != k.want {
			t.Errorf("%s: pause %v", k.what, got)
		}
		if w.lone(now.Add(floodQuiet)) != (k.flood && k.taken > 0) {
			t.Errorf("%s: not the same as a flood at an idle host later", k.what)
		}
	}
}
