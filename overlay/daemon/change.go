package daemon

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/netconf"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// A change is made in two halves. All that can fail comes first, and ends with the
// network's part, which is all or nothing. The rest is done in memory and cannot fail.

// errEnded is for who asks for a change of what is being taken down.
var errEnded = errors.New("the interface is being taken down")

// apply makes the server run with want, but for peers whose time is over, as far as that
// is possible while it runs, and returns the differences to what it ran with: those that are
// not live wait for a restart. After an error all is as it was. changing is held.
func (s *settings) apply(want *config.Config) ([]config.Change, error) {
	if s.closed {
		return nil, errEnded
	}
	want = s.unexpired(want)
	before := s.running.Load()
	diff := config.Diff(before.cfg, want)
	if len(diff) == 0 {
		return nil, nil
	}
	next, err := config.Settle(before.cfg, want)
	if err != nil {
		return nil, err
	}
	table, err := routes(next)
	if err != nil {
		return nil, err
	}
	policies, err := newPolicies(before.cfg, next)
	if err != nil {
		return nil, err
	}
	if err := s.reconfigure(next); err != nil {
		return nil, err
	}
	s.swap(&snapshot{cfg: next, table: table}, policies)
	return diff, nil
}

// reconfigure gives the interface the addresses and routes of next.
func (s *settings) reconfigure(next *config.Config) error {
	file, err := netconf.StatePath(next.Interface.Name)
	if err != nil {
		return err
	}
	told := len(s.device.net.Warnings)
	defer func() {
		for _, w := range s.device.net.Warnings[told:] {
			s.log.tell(events.HostSetting, "", "%s", w)
		}
	}()
	return s.device.net.Change(s.device.plan(next, file), s.sockets.setMark)
}

// newPolicies makes a path policy for each peer of next that needs another than before,
// by place; nil: it keeps the one it has.
func newPolicies(before, next *config.Config) ([]steer.Policy, error) {
	was := map[config.Key]*config.Peer{}
	if reflect.DeepEqual(before.Paths.Steering, next.Paths.Steering) {
		for i := range before.Peers {
			was[before.Peers[i].PublicKey] = &before.Peers[i]
		}
	}
	policies := make([]steer.Policy, len(next.Peers))
	for i := range next.Peers {
		p := &next.Peers[i]
		if old := was[p.PublicKey]; old != nil && old.Policy == p.Policy {
			continue
		}
		policy, err := policyOf(next, p.Policy)
		if err != nil {
			return nil, err
		}
		policies[i] = policy
	}
	return policies, nil
}

// swap puts next in place of what there is: peers that both have stay as they are but for
// what is told to their connections.
func (s *settings) swap(next *snapshot, policies []steer.Policy) {
	old := map[config.Key]*peer{}
	for _, p := range s.running.peers() {
		old[p.cfg().PublicKey] = p
	}
	for i := range next.cfg.Peers {
		c := &next.cfg.Peers[i]
		p := old[c.PublicKey]
		if p == nil {
			p = s.sessions.newPeer(next.cfg, c, policies[i])
		} else {
			p.change(c, policies[i])
			delete(old, c.PublicKey)
		}
		next.peers = append(next.peers, p)
	}
	s.running.Store(next)
	for _, p := range old {
		s.sessions.remove(p)
	}
	s.endpoints.notePeers()
	s.noteExpiry()
}

// change tells the connection what is otherwise in c.
func (p *peer) change(c *config.Peer, policy steer.Policy) {
	was := p.cfg()
	p.conf.Store(c)
	psk := !was.PresharedKey.Equal(c.PresharedKey)
	keepalive := was.PersistentKeepalive != c.PersistentKeepalive
	if !psk && !keepalive && policy == nil {
		return
	}
	p.link.Do(func(now mono.Time, conn *srd.Conn) {
		if psk {
			conn.SetPSK(c.PresharedKey.Bytes())
		}
		if policy != nil {
			conn.SetPolicy(policy)
			p.steering.name, p.steering.policy = c.Policy, policy
		}
		if keepalive {
			conn.SetKeepalive(now, c.PersistentKeepalive)
		}
	})
	p.link.Kick()
}

// remove ends the connection to a peer that is configured no more. Nobody finds it to send
// to it by now, but who looked a moment ago.
func (s *sessions) remove(p *peer) {
	p.link.Do(func(now mono.Time, _ *srd.Conn) {
		p.gone.Store(true)
		waited := uint64(p.out.queue.Len())
		p.out.queue.Flush(p.refuse(now))
		p.removed.Add(waited + p.out.abandon())
	})
	s.loop.Remove(p.link)
	p.link.Do(func(now mono.Time, _ *srd.Conn) {
		before := p.in.reassembler.Stats().Voided
		p.in.reassembler.Reset(now)
		p.removed.Add(p.in.reassembler.Stats().Voided - before)
	})
	p.Flush() // complete frames that waited for order: counted, and dropped
}

// reload takes over what the files say now: c, and the drop-in files of its directory.
func (s *settings) reload(c *config.Config) ([]config.Change, error) { return s.replace(c, true) }

// sync takes c over and leaves it to the files to say something else.
func (s *settings) sync(c *config.Config) ([]config.Change, error) { return s.replace(c, false) }

func (s *settings) replace(c *config.Config, isFile bool) ([]config.Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	want, faults, err := s.withDropIns(c, nil)
	if err != nil {
		return nil, err
	}
	diff, err := s.apply(want)
	if err != nil {
		return nil, err
	}
	if isFile {
		s.file = want
	}
	s.compare()
	s.tellFaults(faults)
	return diff, nil
}

// set changes single keys. With save the files are known to say the same, also of keys
// that need a restart.
func (s *settings) set(settings []config.Setting, save bool) ([]config.Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	want, err := config.With(s.running.cfg(), settings)
	if err != nil {
		return nil, badConfig{err}
	}
	file := s.file
	if save {
		if file, err = config.With(s.file, settings); err != nil {
			return nil, badConfig{err}
		}
	}
	for _, c := range config.Diff(s.running.cfg(), want) {
		if !c.Live && !save {
			return nil, fmt.Errorf("%s cannot be changed while running: change it in %s, and restart", c.Key, s.file.File)
		}
	}
	diff, err := s.apply(want)
	if err != nil {
		return nil, err
	}
	s.file = file
	s.compare()
	return diff, nil
}

// add lets peers in, or gives those of the same keys what they say.
func (s *settings) add(peers []config.Peer) ([]config.Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	want, err := config.WithPeers(s.running.cfg(), peers)
	if err != nil {
		return nil, badConfig{err}
	}
	diff, err := s.apply(want)
	if err == nil {
		s.compare()
	}
	return diff, err
}
