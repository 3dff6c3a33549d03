package loop

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// Another loop goes on with connection and sockets in the midst of a transfer: all messages
// come, each once, under the session there was.
func TestAnotherLoopGoesOn(t *testing.T) {
	for _, workers := range []int{1, 3} {
		a, b := newHosts(t, workers)
		const n = 40_000
		a.send(n)
		b.await("a part", func(mono.Time, *srd.Conn) bool { return len(b.app.got) > n/20 })
		var since mono.Time
		b.peer.Do(func(now mono.Time, c *srd.Conn) { since = c.Session(now).Since })

		b.loop.Halt()
		old := b.loop
		st, ok := old.Suspend(b.peer)
		if _, again := old.Suspend(b.peer); !ok || again {
			t.Fatalf("suspended: %v, again: %v", ok, again)
		}
		b.app.Flush()
		former := old.Former()
		old.Remove(b.peer)
		st, err := srd.ParseState(st.Append(nil))
		if err != nil {
			t.Fatal(err)
		}

		b.loop, err = New(Config{Bank: b.bank, Endpoint: srd.NewEndpoint(b.id, rand.Reader), Workers: workers, Former: former})
		if err != nil {
			t.Fatal(err)
		}
		if now := b.loop.Now(); now < former.Clock || b.loop.table.prefix != former.Prefix {
			t.Errorf("the clock says %v after %v", now, former.Clock)
		}
		b.peer = b.accept(a, b.app)
		b.app.peer = b.peer
		b.peer.Do(func(now mono.Time, c *srd.Conn) { err = c.Resume(now, st) })
		if err != nil {
			t.Fatal(err)
		}
		b.peer.Kick()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- b.loop.Run(ctx) }()

		b.awaitAll(n)
		b.peer.Do(func(now mono.Time, c *srd.Conn) {
			if s := c.Session(now); s.Since != since || c.Stats().Handshakes != 0 {
				t.Errorf("the session is of %v, was of %v; %d handshakes", s.Since, since, c.Stats().Handshakes)
			}
		})
		a.peer.Do(func(_ mono.Time, c *srd.Conn) {
			if c.Stats().Handshakes != 1 || a.app.restarts != 0 {
				t.Errorf("the peer noticed it: %d handshakes, %d restarts", c.Stats().Handshakes, a.app.restarts)
			}
		})
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Time that passed between the two has passed for keys, a suspension of the machine included.
func TestClockOfAFormerLoop(t *testing.T) {
	boot := int64(time.Hour)
	var next clock
	var l Loop
	l.clock.begin(func() int64 { return boot })
	boot += int64(50 * time.Second) // it sleeps, which nobody noticed
	f := l.Former()
	if f.Clock < mono.Time(50*time.Second) {
		t.Errorf("the clock says %v", time.Duration(f.Clock))
	}
	boot += int64(100 * time.Second)
	next.begin(func() int64 { return boot })
	next.follow(f)
	if now := next.now(); now.Sub(f.Clock) < 100*time.Second || now.Sub(f.Clock) > 101*time.Second {
		t.Errorf("%v later", now.Sub(f.Clock))
	}
	boot -= int64(200 * time.Second) // a machine that was restored
	next.begin(func() int64 { return boot })
	if next.follow(f); next.now() < f.Clock {
		t.Error("time went back")
	}
}
