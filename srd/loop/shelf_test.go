package loop

import (
	"bytes"
	"testing"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
	"pgregory.net/rapid"
)

// A shelf is compared with a list: datagrams that fit are returned unchanged and in order.
func TestShelfAgainstItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := shelf{ring: make([]byte, 1000)}
		var twin []item
		var bodies [][]byte
		held := 0
		for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
			if rapid.IntRange(0, 2).Draw(t, "verb") > 0 {
				data := bytes.Repeat([]byte{byte(i)}, rapid.SampledFrom([]int{1, 49, 300, 499, 500, 501, 1000, 1001}).Draw(t, "bytes"))
				it := item{tuple: srd.Tuple{Sock: uint16(i)}, size: i, ecn: srd.ECN(i % 3), at: mono.Time(i)}
				ok := s.put(it.tuple, data, it.size, it.ecn, it.at)
				if len(data) <= 1000 && held == 0 && !ok || ok && held+len(data) > 1000 {
					t.Fatalf("%d bytes beside %d: %v", len(data), held, ok)
				}
				if ok {
					twin, bodies, held = append(twin, it), append(bodies, data), held+len(data)
				}
			} else if len(twin) > 0 {
				tuple, data, size, ecn, at := s.pop()
				if tuple != twin[0].tuple || size != twin[0].size || ecn != twin[0].ecn || at != twin[0].at || !bytes.Equal(data, bodies[0]) {
					t.Fatalf("%d bytes of %d, want %d of %d", len(data), size, len(bodies[0]), twin[0].size)
				}
				held -= len(data)
				twin, bodies = twin[1:], bodies[1:]
			}
			if s.empty() != (len(twin) == 0) {
				t.Fatalf("empty %v with %d", s.empty(), len(twin))
			}
		}
	})
}

func TestShelfDoesNotAllocate(t *testing.T) {
	s := shelf{ring: make([]byte, 4096)}
	data := make([]byte, 100)
	round := func() {
		for s.put(srd.Tuple{}, data, 100, srd.ECT, 0) {
		}
		for range 10 {
			s.pop()
		}
	}
	round()
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
