package host

import "github.com/srdtun/srdtun/srd"

// passed is what a process passes on for one of its peers.
type passed struct {
	state []byte // as it is written; nil: there was no session
	app   []byte
	void  int // messages that were not acknowledged
}

// handOver ends the process, and returns what another goes on with.
func (p *Process) handOver() []passed {
	now, v := p.host.Clock(), make([]passed, len(p.Peers))
	for i, peer := range p.Peers {
		st, ok := peer.Conn.Suspend(now)
		if !ok {
			if peer.Conn.Close(now, p.train) {
				peer.transmit(p.train)
			}
			continue
		}
		v[i] = passed{state: st.Append(nil), app: peer.App.Suspend(now), void: st.Open()}
		if peer.Conn.Next(now, p.train, peer.App) {
			p.host.Audit.Fail("host %d has handed over, and sends", p.host.Index)
		}
	}
	if n := p.Indexes(); n > 0 {
		p.host.Audit.Fail("host %d has handed over, and uses %d receiver indices", p.host.Index, n)
	}
	return v
}

// goOn has a new connection go on with what the process before has passed on. Its keys may
// have become too old.
func (p *Peer) goOn(v passed) {
	if v.state == nil {
		return
	}
	h := p.process.host
	st, err := srd.ParseState(v.state)
	if err != nil {
		h.Audit.Fail("host %d to %d: %w", h.Index, p.remote.Index, err)
		return
	}
	if err := p.Conn.Resume(h.Clock(), st); err != nil {
		h.engine.Say("host %d makes a new session with host %d: %v", h.Index, p.remote.Index, err)
		return
	}
	h.engine.Note(h.noun, "goes on with", uint64(p.remote.Index), 0, 0)
	p.App.Resume(v.app, v.void)
}
