package epnet

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// Bytes are removed in the order in which they were added, and sent bytes occupy no memory.
func TestOutbound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o outbound
		var want []byte
		most, next := 0, byte(0)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				data := make([]byte, rapid.IntRange(0, 300).Draw(t, "bytes"))
				for i := range data {
					next++
					data[i] = next
				}
				o.add(data)
				want = append(want, data...)
				most = max(most, len(want))
			},
			"drop": func(t *rapid.T) {
				n := rapid.IntRange(0, o.len()).Draw(t, "bytes")
				if !bytes.Equal(o.first(n), want[:n]) {
					t.Fatalf("got %v, want %v", o.first(n), want[:n])
				}
				o.drop(n)
				want = want[n:]
			},
			"": func(t *rapid.T) {
				if o.len() != len(want) || cap(o.b) > 4*most+600 {
					t.Fatalf("%d bytes in %d, want %d", o.len(), cap(o.b), len(want))
				}
			},
		})
	})
}
