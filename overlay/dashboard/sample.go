package dashboard

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/srdtun/srdtun/overlay/control"
)

// These limits keep one sample of the status below 200 KB with any configuration. A page with more
// paths or peers than that would be unreadable for a person.
const (
	maxPaths  = 1024
	maxPeers  = 256
	maxEvents = 64
)

// sample is the part of the status that the page receives. The counters in a sample are totals. The
// page computes rates from the differences of two samples. A sample contains no keys, except for
// the beginning of each public key.
type sample struct {
	UnixMs    int64   `json:"t"`
	Interface string  `json:"name"`
	Version   string  `json:"version"`
	UptimeS   int64   `json:"up"`
	Read      uint64  `json:"read"`    // bytes from the device
	Written   uint64  `json:"written"` // bytes to the device
	Drops     uint64  `json:"drops"`
	Peers     []peer  `json:"peers"`
	LeftOut   int     `json:"left_out"` // number of peers and paths that the limits leave out
	Told      bool    `json:"told"`     // events come from the daemon
	Events    []Event `json:"events"`
}

type peer struct {
	Name      string            `json:"name"`
	Key       string            `json:"key"` // first characters of the public key
	Endpoint  string            `json:"endpoint"`
	Policy    string            `json:"policy"`
	Cipher    string            `json:"cipher"` // "": no session
	Silent    int64             `json:"silent"` // unix time since when the peer owes an answer; 0: it owes none
	Delivered uint64            `json:"delivered"`
	Messages  uint64            `json:"messages"`
	Repeated  uint64            `json:"repeated"`
	Reordered uint64            `json:"reordered"`
	HeldUs    uint64            `json:"held_us"`
	Queue     uint64            `json:"queue"`
	Drops     uint64            `json:"drops"`
	WaitedUs  map[string]uint64 `json:"waited_us"`
	Paths     []path            `json:"paths"`
}

type path struct {
	Local   string `json:"l"`
	Remote  string `json:"r"`
	State   string `json:"s"`
	RTTUs   int64  `json:"rtt"`
	QueueUs int64  `json:"q"`
	Bytes   uint64 `json:"b"`
	Packets uint64 `json:"p"`
	Lost    uint64 `json:"lost"`
	Weight  uint32 `json:"w"`
}

// The first keyChars characters of the public key distinguish peers without a name.
const keyChars = 8

func sampleOf(st *control.Status, now time.Time) *sample {
	s := &sample{
		UnixMs: now.UnixMilli(), Interface: st.Interface, Version: st.Version, UptimeS: st.UptimeS,
		Read: st.Device.ReadBytes, Written: st.Device.WrittenBytes, Drops: total(st.Drops),
		Peers: []peer{}, Events: []Event{},
	}
	left := maxPaths
	for i := range st.Peers {
		if i == maxPeers {
			s.LeftOut += len(st.Peers) - maxPeers
			break
		}
		p := peerOf(&st.Peers[i])
		if over := len(p.Paths) - left; over > 0 {
			s.LeftOut += over
			p.Paths = p.Paths[:left]
		}
		left -= len(p.Paths)
		s.Peers = append(s.Peers, p)
	}
	return s
}

func peerOf(p *control.Peer) peer {
	v := peer{
		Name: p.Name, Key: p.PublicKey[:min(keyChars, len(p.PublicKey))], Endpoint: p.Endpoint, Policy: p.Policy,
		Cipher: p.Cipher, Silent: p.SilentSinceUnixS, Delivered: p.DeliveredBytesPerS,
		Messages: p.Messages.Sent, Repeated: p.Messages.Retransmitted,
		Reordered: p.Order.ReorderedFrames, HeldUs: p.Order.HeldUs, Queue: p.Queue.Bytes,
		Drops: total(p.Drops), WaitedUs: p.WaitedUs, Paths: []path{},
	}
	for _, a := range p.Paths {
		if a.State == control.PathCandidate {
			continue // shown as a path once it works
		}
		v.Paths = append(v.Paths, path{
			a.From(), a.Remote, a.State, a.SRTTUs, a.QueueUs, a.SentBytes, a.SentPackets, a.Lost, a.Weight,
		})
	}
	slices.SortStableFunc(v.Paths, byPlace)
	return v
}

// byPlace orders paths by remote and local address. So all paths of one pair of addresses are
// adjacent.
func byPlace(a, b path) int {
	return cmp.Or(strings.Compare(a.Remote, b.Remote), strings.Compare(a.Local, b.Local))
}

// total returns the number of drops for those reasons that a summary includes (control.Told).
func total(counts map[string]uint64) (n uint64) {
	for reason, c := range counts {
		if control.Told(reason) {
			n += c
		}
	}
	return n
}
