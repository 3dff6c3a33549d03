package daemon

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/daemon/internal/vmgenid"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/handover"
	"github.com/srdtun/srdtun/overlay/order"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/loop"
	"github.com/srdtun/srdtun/srd/mono"
)

// Sessions that go on over a restart. What must hold for that, or they are made anew: the
// same setup, run of the machine, keys of both ends and preshared key, nothing that tells of
// a copied machine, keys that are not too old; and the sessions are taken by one process,
// once (package handover).

// suspended are the sessions that this process passes on.
type suspended struct {
	state    *handover.Kept
	sessions []byte
	machine  int
}

// into returns what of a bundle that is.
func (k *suspended) into() (*handover.Kept, []byte, []int) {
	if k == nil {
		return nil, nil, nil
	}
	return k.state, k.sessions, []int{k.machine}
}

// suspendAll ends the loop and takes the sessions of all peers out of it. nil: they cannot go on,
// and nothing has changed.
func (rs *restart) suspendAll() *suspended {
	id := rundir.Boot()
	if id == "" {
		rs.log.tell(events.Fallback, "sessions", "sessions will be made anew: nothing tells runs of this machine apart")
		return nil
	}
	fd, err := rs.clones.Rest()
	if err != nil {
		rs.log.tell(events.Fallback, "sessions", "sessions will be made anew: %v", err)
		return nil
	}
	rs.sessions.loop.Halt()
	k, large := &suspended{machine: fd}, []string(nil)
	for _, p := range rs.running.peers() {
		if ok := rs.suspend(p, k); !ok {
			large = append(large, p.title())
		}
	}
	if len(large) > 0 {
		rs.log.tell(events.Fallback, "sessions", "sessions will be made anew: there are too many of them (%s)", few(large))
	}
	f := rs.sessions.loop.Former()
	k.state = &handover.Kept{BootID: id, Clock: int64(f.Clock), Boot: f.Boot, Prefix: f.Prefix}
	return k
}

// suspend takes the session of p, if there is one. It reports whether there was room.
func (rs *restart) suspend(p *peer, k *suspended) (ok bool) {
	st, some := rs.sessions.loop.Suspend(p.link)
	if !some {
		return true
	}
	var data []byte
	p.link.Do(func(now mono.Time, _ *srd.Conn) {
		data = order.AppendNumbers(nil, p.out.segmenter.Suspend())
		data = order.AppendNumbers(data, p.in.reassembler.Suspend(now))
		p.out.pieces.drop()
	})
	p.Flush() // what only waited for its order
	data = st.Append(data)
	st.Wipe()
	k.sessions, ok = handover.AppendSession(k.sessions, handover.Session{
		Peer: p.cfg().PublicKey, Binding: rs.sessions.binding(p), Data: data,
	})
	clear(data)
	return ok
}

// binding is a digest of what else a session is of: both ends' keys and what this one reads.
func (s *sessions) binding(p *peer) [32]byte {
	c := p.cfg()
	own, psk := s.running.cfg().Interface.PrivateKey.Bytes(), c.PresharedKey.Bytes()
	h := sha256.New()
	h.Write([]byte("srdtun session"))
	h.Write(own[:])
	h.Write(c.PublicKey[:])
	h.Write(psk[:])
	h.Write([]byte{readsTunnelled})
	return [32]byte(h.Sum(nil))
}

// previous is the process before, whose sessions go on.
type previous struct {
	origin   loop.Former
	sessions map[[32]byte]handover.Session
}

// loop is what the loop needs of it.
func (f *previous) loop() *loop.Former {
	if f == nil {
		return nil
	}
	return &f.origin
}

var (
	errNotAdopted = errors.New("device and sockets are made anew")
	errNoClock    = errors.New("the clock went back")
)

// inherit decides whether the sessions of the process before go on.
func (rs *restart) inherit() {
	b := rs.inherited
	if b == nil || b.State.Kept == nil {
		return
	}
	f, err := rs.previousOf(b)
	if err != nil {
		b.Wipe()
		rs.log.tell(events.Fallback, "sessions", "all sessions are made anew: %v", err)
		return
	}
	rs.previous = f
}

func (rs *restart) previousOf(b *handover.Bundle) (*previous, error) {
	k := b.State.Kept
	switch {
	case b.Without != "":
		return nil, errors.New(b.Without)
	case rs.sockets.bank == nil:
		return nil, errNotAdopted
	case len(b.Machine) != 1:
		return nil, vmgenid.ErrDeaf
	case k.Clock <= 0 || k.Boot < 0 || k.Boot > loop.BootTime():
		return nil, errNoClock
	}
	all, err := handover.ParseSessions(b.Sessions)
	if err != nil {
		return nil, err
	}
	// Last of all: from here on watch will see what happens.
	fd := b.Machine[0]
	b.Machine = nil
	if rs.clones, err = vmgenid.Adopt(fd); err != nil {
		return nil, err
	}
	f := &previous{origin: loop.Former{Clock: mono.Time(k.Clock), Boot: k.Boot, Prefix: k.Prefix}, sessions: map[[32]byte]handover.Session{}}
	for _, v := range all {
		f.sessions[v.Peer] = v
	}
	return f, nil
}

var (
	errOtherKeys = errors.New("its keys, or what is read of it, were others")
	errNumbers   = errors.New("the numbers of its flows are damaged")
)

// resumeAll has the connections of peers go on with their sessions, and says why some do not.
func (rs *restart) resumeAll(peers []*peer) {
	if rs.previous == nil {
		return
	}
	anew := map[string][]string{}
	for _, p := range peers {
		v, some := rs.previous.sessions[p.cfg().PublicKey]
		if !some {
			continue // there was none
		}
		var err error
		p.link.Do(func(now mono.Time, c *srd.Conn) { err = rs.resume(now, c, p, v) })
		if err != nil {
			anew[err.Error()] = append(anew[err.Error()], p.title())
		}
	}
	for why, names := range anew {
		rs.log.tell(events.Fallback, why, "sessions are made anew, each as %s: %s", why, few(names))
	}
	rs.previous.sessions = nil
	rs.inherited.Wipe()
}

func (rs *restart) resume(now mono.Time, c *srd.Conn, p *peer, v handover.Session) error {
	if v.Binding != rs.sessions.binding(p) {
		return errOtherKeys
	}
	out, rest, ok1 := order.ParseNumbers(v.Data)
	in, rest, ok2 := order.ParseNumbers(rest)
	if !ok1 || !ok2 {
		return errNumbers
	}
	st, err := srd.ParseState(rest)
	if err != nil {
		return err
	}
	if err := c.Resume(now, st); err != nil {
		return err
	}
	p.out.segmenter.Resume(out)
	p.in.reassembler.Resume(in)
	p.health.watch.Carry(c.Session(now))
	return nil
}

// fewMost bounds the names in one line of the log.
const fewMost = 8

// few lists names, or the first of them and how many there are.
func few(names []string) string {
	slices.Sort(names)
	if len(names) <= fewMost {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:fewMost], ", "), len(names)-fewMost)
}
