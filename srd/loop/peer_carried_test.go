package loop

import "testing"

// Both ends count the trains of a peer, not its packets.
func TestCarried(t *testing.T) {
	const n = 40_000
	a, b := newHosts(t, 1)
	a.send(n)
	b.awaitAll(n)
	from, to := a.peer.Carried(), b.peer.Carried()
	if from.Out == 0 || to.In == 0 || from.In == 0 || to.Out == 0 || from.Out >= n {
		t.Errorf("%+v and %+v", from, to)
	}
}
