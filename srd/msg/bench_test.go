package msg_test

import (
	"context"
	"testing"

	"github.com/srdtun/srdtun/srd/msg"
)

// BenchmarkSend sends messages without a pause. Their receives are posted before.
func BenchmarkSend(b *testing.B) {
	for _, x := range []struct {
		name    string
		size    int
		ordered bool
	}{{"64", 64, false}, {"64ordered", 64, true}, {"8000", 8000, false}, {"1MiB", 1 << 20, false}} {
		b.Run(x.name, func(b *testing.B) { stream(b, x.size, x.ordered) })
	}
}

func stream(b *testing.B, size int, ordered bool) {
	ctx := context.Background()
	from, here := open(), open()
	defer from.Close()
	defer here.Close()
	h := to(from, here)
	for range 64 {
		here.Receive(msg.Match{Tag: 1}, make([]byte, size), 0)
	}
	go func() {
		batch := make([]msg.Completion, 64)
		for {
			n, err := here.Receives().Wait(ctx, batch)
			if err != nil {
				return
			}
			for _, c := range batch[:n] {
				here.Receive(msg.Match{Tag: 1}, c.Data[:cap(c.Data)], 0)
			}
		}
	}()
	go func() {
		batch := make([]msg.Completion, 64)
		for {
			if _, err := from.Sends().Wait(ctx, batch); err != nil {
				return
			}
		}
	}()
	data := make([]byte, size)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		must(b, h.Send(ctx, 1, data, msg.Options{Ordered: ordered}))
	}
}
