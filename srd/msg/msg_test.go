package msg_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/msg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func background(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// local returns the address at which programs on this host reach an endpoint.
func local(port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)
}

// endpoint opens an endpoint and closes it when the test ends.
func endpoint(t *testing.T, cfg msg.Config) *msg.Endpoint {
	t.Helper()
	if cfg.Endpoint.Key.Public() == (ep.PublicKey{}) {
		cfg.Endpoint.Key = ep.NewKey()
	}
	cfg.Endpoint.Protocol, cfg.Endpoint.Ports = "test", 4
	m, err := msg.Open(cfg)
	must(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

// joined returns a handle from a to b, and allows a at b.
func joined(t *testing.T, a, b *msg.Endpoint) *msg.Handle {
	t.Helper()
	must(t, b.Allow(a.PublicKey()))
	h, err := a.Handle(b.PublicKey(), local(b.Port()))
	must(t, err)
	return h
}

func send(t *testing.T, ctx context.Context, h *msg.Handle, tag uint64, data []byte, o msg.Options) {
	t.Helper()
	must(t, h.Send(ctx, tag, data, o))
}

func receive(t *testing.T, m *msg.Endpoint, match msg.Match, size int, context uint64) {
	t.Helper()
	must(t, m.Receive(match, make([]byte, size), context))
}

func next(t *testing.T, ctx context.Context, q *msg.Queue) msg.Completion {
	t.Helper()
	var c [1]msg.Completion
	if _, err := q.Wait(ctx, c[:]); err != nil {
		t.Fatal(err)
	}
	return c[0]
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, ctx context.Context, ok func() bool) {
	t.Helper()
	for !ok() {
		if ctx.Err() != nil {
			t.Fatal("it never happens")
		}
		time.Sleep(time.Millisecond)
	}
}

// arrived waits until m has n messages that have not matched a receive.
func arrived(t *testing.T, ctx context.Context, m *msg.Endpoint, n int) {
	t.Helper()
	waitFor(t, ctx, func() bool { return m.Stats().Unexpected == n })
}

func sequence(n int) []byte {
	v := make([]byte, n)
	for i := range v {
		v[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return v
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
