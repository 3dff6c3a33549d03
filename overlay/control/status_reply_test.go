package control

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// chunks records the length of the longest write, and how many peers had been requested before the
// first write.
type chunks struct {
	bytes.Buffer
	longest, first int
	asked          *int
}

func (c *chunks) Write(b []byte) (int, error) {
	if c.Len() == 0 {
		c.first = *c.asked
	}
	c.longest = max(c.longest, len(b))
	return c.Buffer.Write(b)
}

// The status of a hub with thousands of peers is never in memory as a whole. The state of a peer is
// requested only after earlier peers were written to the client.
func TestLongStatusIsNotKept(t *testing.T) {
	const n = 4000
	asked := 0
	w := &chunks{asked: &asked}
	peer := filled().Peers[0]
	err := writeStatus(w, filled(), func(yield func(Peer) bool) {
		for i := range n {
			asked++
			p := peer
			p.Name = fmt.Sprintf(`"peers":[] %d`, i)
			if !yield(p) {
				return
			}
		}
	})
	if err != nil || asked != n {
		t.Fatalf("%d peers, %v", asked, err)
	}
	if w.longest > 2*statusChunk || w.first > n/10 {
		t.Errorf("%d bytes at once, the first after %d peers", w.longest, w.first)
	}
	line := w.String()
	if strings.Index(line, "\n") != len(line)-1 {
		t.Error("not one line")
	}
	r, err := parseReply([]byte(line))
	must(t, err)
	want := filled()
	want.Schema, want.Version = Schema, Version
	want.Peers = r.Status.Peers
	if len(r.Status.Peers) != n || !reflect.DeepEqual(*r.Status, want) {
		t.Errorf("%d peers, got %+v", len(r.Status.Peers), r.Status.Peers[0])
	}
	want.Peers[17].Name = peer.Name
	if !reflect.DeepEqual(want.Peers[17], peer) {
		t.Errorf("got %+v, want %+v", want.Peers[17], peer)
	}
}
