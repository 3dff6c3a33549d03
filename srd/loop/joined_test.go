package loop

import "testing"

// joining is an application that records whether its connection could already be reached when it
// got its peer.
type joining struct {
	app
	h       *host
	reached bool
}

func (a *joining) Joined(p *Peer) {
	a.app.Joined(p)
	t := &a.h.loop.table
	t.mu.RLock()
	defer t.mu.RUnlock()
	_, a.reached = t.peers[p.Conn()]
}

// An application has its peer before a packet of the connection can arrive. (A handshake that
// arrived while a member of a fleet was added once ended the daemon, by a nil pointer.)
func TestAppHasItsPeerBeforeAnyPacket(t *testing.T) {
	a, b := newHosts(t, 1)
	app := &joining{h: a}
	p := a.accept(b, app)
	if app.peer != p {
		t.Error("the application has another peer")
	}
	if app.reached {
		t.Error("the connection could be reached before its application had the peer")
	}
}
