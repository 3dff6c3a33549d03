package daemon

import (
	"errors"
	"reflect"
	"runtime/debug"
	"slices"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/netconf"
	"github.com/srdtun/srdtun/srd/steer"
)

// A change of the configuration has two phases. The first phase has all steps that can fail. The
// last step of the first phase is the network settings, which change as a whole or not at all.
// The second phase changes only memory, and cannot fail.

// errEnded is the error of a change while the interface is being taken down.
var errEnded = errors.New("the interface is being taken down")

// apply makes `want`, without its expired peers, the running configuration. The method apply()
// returns the differences between the two configurations. Differences that cannot be applied
// live take effect after a restart. If apply() returns an error, the running configuration is
// unchanged. The caller must hold mu.
func (s *settings) apply(want *config.Config) ([]config.Change, error) {
	if s.closed {
		return nil, errEnded
	}
	want, over := config.Current(want, s.clock())
	before := s.running.Load()
	diff := config.Diff(before.cfg, want)
	if len(diff) == 0 {
		s.lapse(over)
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
	s.lapse(over)
	return diff, nil
}

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
	return located(next, s.device.net.Change(s.device.plan(next, file), s.sockets.setMark))
}

// hostWarnings returns the warnings about this host's network settings, without the first n, and
// the number of all warnings.
func (s *settings) hostWarnings(n int) ([]string, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.device.net.Warnings
	return slices.Clone(all[n:]), len(all)
}

// newPolicies returns a path policy for each peer of the configuration `next` that needs a new
// one, in the order of the peers. Peers whose entry is nil keep their policies.
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

// swap replaces the running configuration with `next`. Peers in both configurations keep their
// connections, to which the differences are applied.
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
			s.moved++
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
	if s.moved += len(old); s.moved >= manyPeers {
		s.moved = 0
		s.returnMemory()
	}
	s.endpoints.rounds.note()
	s.noteExpiry()
}

const (
	// After manyPeers peers have been added or removed, free memory is returned to the kernel.
	// Without traffic, the Go runtime would for minutes keep the memory of removed peers, and the
	// memory for reading the configuration of new peers.
	manyPeers = 256
	// returnAfter is the time that the daemon waits before that, until this memory is free.
	returnAfter = 5 * time.Second
)

// returnMemory returns free memory to the kernel after returnAfter. The caller must hold mu.
func (s *settings) returnMemory() {
	if s.freeing == nil {
		s.freeing = time.AfterFunc(returnAfter, debug.FreeOSMemory)
		return
	}
	s.freeing.Reset(returnAfter)
}
