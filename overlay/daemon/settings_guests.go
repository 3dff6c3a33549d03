package daemon

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/netconf"
	"github.com/srdtun/srdtun/overlay/route"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// A guest is a peer whose drop-in file belongs to a user other than root. A guest must never
// prevent a change of the configuration, a start, or the use of another peer.

// If the kernel refuses a guest's route, the guest is left out, and the change is tried again.
// refusedRoutes bounds the number of guests that are left out one by one in this way.
const refusedRoutes = 16

// ofGuest reports whether a command of root may leave out a peer because of the peer's route.
func ofGuest(p *config.Peer) bool { return p.Guest }

// ofFile reports whether a reading of the drop-in files may leave out a peer because of the peer's
// route.
func ofFile(p *config.Peer) bool { return p.File != "" }

// carry applies the configuration `want`, without the guests that conflict with other peers. If
// the kernel refuses the route of a peer, and mayGo() returns true for this peer, carry() leaves it
// out, too. The result `out` has the peers that were left out. If carry() returns an error, the
// running configuration is unchanged.
func (s *settings) carry(want *config.Config, mayGo func(*config.Peer) bool) (diff []config.Change, out []config.LeftOut, err error) {
	want, out = config.WithoutClashes(want, s.around)
	for guests := 0; guests < refusedRoutes; {
		if diff, err = s.apply(want); err == nil || err == errEnded {
			return diff, out, err
		}
		bad, is := refusedBy(want, err, mayGo)
		if !is {
			break
		}
		if bad.Peer.Guest {
			guests++
		}
		out = append(out, bad)
		want = config.Without(want, out)
	}
	// The error does not identify a guest. So first all new and changed guests are left out, and if
	// that fails too, all guests.
	runs := map[config.Key]*config.Peer{}
	peers := s.running.cfg().Peers
	for i := range peers {
		runs[peers[i].PublicKey] = &peers[i]
	}
	as := func(p *config.Peer) bool { return runs[p.PublicKey] != nil && config.SamePeer(runs[p.PublicKey], p) }
	for _, stays := range []func(*config.Peer) bool{as, func(*config.Peer) bool { return false }} {
		rest, others := config.PartGuests(want, stays)
		if len(others) == 0 {
			continue
		}
		if diff, failed := s.apply(rest); failed == nil {
			for _, p := range others {
				out = append(out, config.LeftOut{Peer: p, Err: p.Fault("", err.Error())})
			}
			return diff, out, nil
		}
	}
	return nil, nil, err
}

// spare leaves out drop-in files after a route made the start fail: the file of the peer in the
// error, or else all guests. The method spare() reports whether any file was left out.
func (s *settings) spare(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.running.cfg()
	var out []config.LeftOut
	bad, is := refusedBy(c, err, ofFile)
	if is && bad.Peer.Guest {
		s.spared++
	}
	if is && s.spared <= refusedRoutes {
		out = []config.LeftOut{bad}
	} else {
		_, guests := config.PartGuests(c, func(*config.Peer) bool { return false })
		for _, p := range guests {
			out = append(out, config.LeftOut{Peer: p, Err: p.Fault("", err.Error())})
		}
	}
	if len(out) == 0 {
		return false
	}
	s.running.Store(&snapshot{cfg: config.Without(c, out), table: new(route.Table)})
	s.file = config.Without(s.file, out)
	s.addFaults(reasons(out))
	return true
}

// refusedBy returns the peer whose route the kernel refuses, if mayGo() returns true for it.
func refusedBy(c *config.Config, err error, mayGo func(*config.Peer) bool) (bad config.LeftOut, is bool) {
	var route *netconf.RouteError
	if !errors.As(err, &route) {
		return bad, false
	}
	i := slices.IndexFunc(c.Peers, func(p config.Peer) bool { return mayGo(&p) && slices.Contains(p.AllowedIPs, route.Prefix) })
	if i < 0 {
		return bad, false
	}
	return config.LeftOut{Peer: c.Peers[i], Err: c.Peers[i].Fault("allowed_ips", route.Error())}, true
}

func reasons(out []config.LeftOut) (faults []error) {
	for _, v := range out {
		faults = append(faults, v.Err)
	}
	return faults
}

// sparing returns the configuration c with root's change applied. If a guest conflicts with the
// change, the method carry() leaves that guest out later.
func sparing(c *config.Config, change func(*config.Config) (*config.Config, error)) (*config.Config, error) {
	next, err := change(c)
	if err == nil {
		return next, nil
	}
	rest, guests := config.PartGuests(c, func(*config.Peer) bool { return false })
	if len(guests) == 0 {
		return nil, err
	}
	next, failed := change(rest)
	if failed != nil {
		return nil, err
	}
	next.Peers = append(next.Peers, guests...)
	return next, nil
}

// changedByRoot returns an error if `want` changes a guest so that the guest conflicts with other
// peers. A command of root must not change a guest in such a way that the guest is then left out.
func (s *settings) changedByRoot(want *config.Config) error {
	_, out := config.WithoutClashes(want, s.around)
	for _, v := range out {
		for _, p := range s.running.cfg().Peers {
			if p.PublicKey == v.Peer.PublicKey && p.Guest &&
				(!slices.Equal(p.AllowedIPs, v.Peer.AllowedIPs) || !slices.Equal(p.Endpoints, v.Peer.Endpoints) || p.Name != v.Peer.Name) {
				var e *config.Error
				if errors.As(v.Err, &e) {
					return fmt.Errorf("peer %s: %s", p.Title(), e.Msg)
				}
				return v.Err
			}
		}
	}
	return nil
}

// around returns this host's addresses, and the current addresses of root's peers.
func (s *settings) around() config.Around {
	ends := map[config.Key][]netip.Addr{}
	for _, p := range s.running.peers() {
		if p.cfg().Guest {
			continue
		}
		p.link.Do(func(_ mono.Time, c *srd.Conn) {
			for _, a := range slices.Concat(p.remote.endpoints, c.Proven()) {
				ends[p.cfg().PublicKey] = append(ends[p.cfg().PublicKey], a.Addr())
			}
		})
	}
	return config.Around{Own: config.HostAddresses(), Ends: ends}
}
