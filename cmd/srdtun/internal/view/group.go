package view

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/overlay/control"
)

// Group holds the paths between one pair of addresses.
type Group struct {
	Local, Remote string // addresses; Local also has the interface if paths are bound to one
	Paths         []control.Path
	Up            int   // number of paths that carry data
	Down          int   // number of paths that are down
	RTTUs         int64 // the median over the paths that carry data; 0: unknown
	Sent          Sent
}

// Sent counts the sent and the lost packets, and the sent bytes.
type Sent struct{ Packets, Bytes, Lost uint64 }

// Groups groups paths by their pair of addresses, because there are few pairs. It leaves out
// candidates, which are not validated yet.
func Groups(paths []control.Path) []Group {
	type ends struct{ local, remote string }
	at := map[ends]int{}
	var v []Group
	for _, p := range paths {
		if p.State == control.PathCandidate {
			continue
		}
		k := ends{p.Uplink(), host(p.Remote)}
		i, ok := at[k]
		if !ok {
			i = len(v)
			at[k] = i
			v = append(v, Group{Local: k.local, Remote: k.remote})
		}
		v[i].add(p)
	}
	for i := range v {
		v[i].RTTUs = median(v[i].Paths)
	}
	slices.SortFunc(v, func(a, b Group) int {
		return cmp.Or(compareHosts(a.Local, b.Local), compareHosts(a.Remote, b.Remote))
	})
	return v
}

func (g *Group) add(p control.Path) {
	g.Paths = append(g.Paths, p)
	switch p.State {
	case control.PathActive:
		g.Up++
	case control.PathDown:
		g.Down++
	}
	g.Sent.Packets += p.SentPackets
	g.Sent.Bytes += p.SentBytes
	g.Sent.Lost += p.Lost
}

// median returns the median round trip of the paths that carry data, in microseconds.
func median(paths []control.Path) int64 {
	var all []int64
	for _, p := range paths {
		if p.State == control.PathActive && p.SRTTUs > 0 {
			all = append(all, p.SRTTUs)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// host removes the port from an address.
func host(addrPort string) string {
	a, err := netip.ParseAddrPort(addrPort)
	if err != nil {
		return addrPort
	}
	return a.Addr().String()
}

func compareHosts(a, b string) int {
	a, atA, _ := strings.Cut(a, "%")
	b, atB, _ := strings.Cut(b, "%")
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	if errX != nil || errY != nil {
		return cmp.Compare(a, b)
	}
	return cmp.Or(x.Compare(y), cmp.Compare(atA, atB))
}

// Up returns the number of paths that carry data, and the number of all validated paths.
func Up(paths []control.Path) (up, all int) {
	for _, p := range paths {
		if p.State == control.PathActive {
			up++
		}
		if p.State != control.PathCandidate {
			all++
		}
	}
	return up, all
}
