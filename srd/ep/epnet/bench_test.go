package epnet_test

import (
	"context"
	"io"
	"testing"
)

// BenchmarkStream writes to a stream as fast as its reader reads.
func BenchmarkStream(b *testing.B) {
	for _, x := range []struct {
		name string
		size int
	}{{"64", 64}, {"8KiB", 8 << 10}, {"64KiB", 64 << 10}} {
		b.Run(x.name, func(b *testing.B) { write(b, x.size) })
	}
}

func write(b *testing.B, size int) {
	_, far, dial, stop, err := pair()
	must(b, err)
	defer stop()
	l, err := far.Listen()
	must(b, err)
	c, err := dial(context.Background())
	must(b, err)
	reader, err := l.Accept()
	must(b, err)
	go io.Copy(io.Discard, reader)
	data := make([]byte, size)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(data); err != nil {
			b.Fatal(err)
		}
	}
}
