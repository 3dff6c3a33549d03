package netcheck

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/cmd/srdtun/internal/doctor"
	"github.com/srdtun/srdtun/overlay/control"
)

// healthy returns a status with a peer that uses 8 source ports on two uplinks.
func healthy() (*control.Status, *control.Peer) {
	p := control.Peer{Name: "b", LatestHandshakeUnixS: 1}
	for _, local := range []string{"192.0.2.1", "198.51.100.1"} {
		for port := range 8 {
			p.Paths = append(p.Paths, control.Path{
				Local: fmt.Sprintf("%s:%d", local, 5000+port), Remote: "203.0.113.9:51820",
				State: control.PathActive, MTU: 1500, SentPackets: 10000, Lost: 3, ReceivedPackets: 9000,
			})
		}
	}
	st := &control.Status{Peers: []control.Peer{p}, Receives: control.Receives{Merged: true}, Sends: control.Sends{Trains: 1000, Packets: 20000}}
	return st, &st.Peers[0]
}

func TestNothingToSayOfAHealthyNetwork(t *testing.T) {
	st, p := healthy()
	v := Judge(st, p, []Ways{{Pairs(p)[0], 4, nil}}, nil, nil)
	for _, f := range v {
		if f.Level != doctor.OK || f.Advice != "" || f.Saw == "" {
			t.Errorf("%+v", f)
		}
	}
	if len(v) != 13 {
		t.Errorf("%d findings", len(v))
	}
}

// If no packet has passed the network, the findings must not say that it is healthy.
func TestNothingIsKnownYet(t *testing.T) {
	st, p := healthy()
	p.Endpoints, p.LatestHandshakeUnixS, p.Paths, st.Sends = []string{"203.0.113.9:51820"}, 0, nil, control.Sends{}
	var got []string
	for _, f := range Judge(st, p, nil, nil, nil) {
		got = append(got, f.Check+": "+f.Saw)
	}
	want := []string{
		"session: there was no handshake yet", "paths: none yet; paths open when something is sent",
		"system calls: no data has been sent yet; srdtun doctor tests this host", "sending: no packet was dropped on the way out of this host",
		"receiving: no arriving packet was dropped before the daemon saw it",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}

	st, p = healthy()
	p.Endpoints = []string{"203.0.113.9:51820"}
	for i := range p.Paths {
		p.Paths[i].State, p.Paths[i].SentPackets, p.Paths[i].Lost = control.PathDown, 5, 5
	}
	for _, f := range Judge(st, p, nil, nil, nil) {
		if want := map[string]string{"loss": "too few packets were sent to judge", "address translation": "not known: the peer does not answer"}[f.Check]; want != "" && f.Saw != want {
			t.Errorf("%+v, want %q", f, want)
		}
	}
}

// Paths without validation are no paths yet: the count is that of show, and names them apart.
func TestCandidatesAreCountedApart(t *testing.T) {
	st, p := healthy()
	p.Paths[3].State, p.Paths[4].State, p.Paths[5].State = control.PathDown, control.PathCandidate, control.PathCandidate
	for _, f := range Judge(st, p, nil, nil, nil) {
		if f.Check == "paths" && (f.Saw != "13 of 14 work, and 2 have had no answer yet" || f.Level != doctor.Warning) {
			t.Errorf("%+v", f)
		}
	}
	for i := range p.Paths {
		p.Paths[i].State = control.PathCandidate
	}
	for _, f := range Judge(st, p, nil, nil, nil) {
		if f.Check == "paths" && (f.Saw != "0 of 0 work, and 16 have had no answer yet" || f.Level != doctor.Fault) {
			t.Errorf("%+v", f)
		}
	}
}

func TestPairs(t *testing.T) {
	_, p := healthy()
	p.Paths = append(p.Paths, control.Path{Local: "nonsense"})
	got := fmt.Sprint(Pairs(p))
	if want := "[192.0.2.1 to 203.0.113.9 198.51.100.1 to 203.0.113.9]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestFindings(t *testing.T) {
	for _, c := range []struct {
		name  string
		harm  func(*control.Status, *control.Peer)
		check string
		level doctor.Level
		saw   string
	}{
		{"never", func(_ *control.Status, p *control.Peer) {
			p.LatestHandshakeUnixS, p.Paths, p.Endpoints = 0, nil, []string{"203.0.113.9:51820"}
		}, "session", doctor.Fault, "no handshake"},
		{"waits", func(_ *control.Status, p *control.Peer) { p.LatestHandshakeUnixS, p.Paths, p.Endpoints = 0, nil, nil }, "session", doctor.Fault, "the peer has not called yet"},
		{"no full packet passes", func(_ *control.Status, p *control.Peer) {
			p.SessionFault, p.Cipher = "small packets pass", "aes-256-gcm"
		}, "session", doctor.Fault, "small packets pass"},
		{"silent", func(_ *control.Status, p *control.Peer) { p.SilentSinceUnixS = 9 }, "session", doctor.Fault, "any more"},
		{"left", func(_ *control.Status, p *control.Peer) { p.LeftUnixS, p.SilentSinceUnixS = 8, 9 }, "session", doctor.Fault, "the peer ended the session"},
		{"another preshared key", func(_ *control.Status, p *control.Peer) {
			p.LatestHandshakeUnixS, p.Paths, p.Endpoints, p.Drops = 0, nil, []string{"203.0.113.9:51820"}, map[string]uint64{"handshake_mismatch": 1}
		}, "session", doctor.Fault, "did not decrypt"},
		{"a new preshared key", func(_ *control.Status, p *control.Peer) {
			p.SilentSinceUnixS, p.Drops = 9, map[string]uint64{"handshake_mismatch": 1}
		}, "session", doctor.Fault, "did not decrypt"},
		{"an old mistake", func(_ *control.Status, p *control.Peer) { p.Drops = map[string]uint64{"handshake_mismatch": 1} }, "session", doctor.OK, "answers"},
		{"no handshake is completed", func(_ *control.Status, p *control.Peer) {
			p.LatestHandshakeUnixS, p.Paths, p.TxBytes = 0, nil, 500
		}, "session", doctor.Fault, "completed no handshake"},
		{"an uplink", func(_ *control.Status, p *control.Peer) {
			for i := range 8 {
				p.Paths[i].State = control.PathDown
			}
		}, "paths", doctor.Warning, "8 of 16"},
		{"all down", func(_ *control.Status, p *control.Peer) {
			for i := range p.Paths {
				p.Paths[i].State = control.PathDown
			}
		}, "paths", doctor.Fault, "0 of 16"},
		{"mixed sizes", func(_ *control.Status, p *control.Peer) { p.Paths[3].MTU = 1400 }, "path MTU", doctor.Warning, "1400 to 1500, least from 192.0.2.1 to 203.0.113.9"},
		{"a full buffer", func(st *control.Status, _ *control.Peer) {
			st.Drops = map[string]uint64{refusedBeforeUs: 5000}
			st.Workers = []control.Worker{{RxPackets: 100_000}, {RxPackets: 10_000}}
		}, "receiving", doctor.Warning, "5000 packets were refused as garbage, or did not fit the receive buffers; 110000 were accepted"},
		{"some garbage", func(st *control.Status, _ *control.Peer) {
			st.Drops = map[string]uint64{refusedBeforeUs: 1001}
			st.Workers = []control.Worker{{RxPackets: 1e6}}
		}, "receiving", doctor.OK, "1001 packets"},
		{"behind a NAT", func(_ *control.Status, p *control.Peer) {
			p.Endpoints = []string{"203.0.113.9:51820"}
			p.Paths[5].Remote = "198.18.0.7:4001"
		}, "address translation", doctor.OK, "also at 198.18.0.7"},
		{"named", func(_ *control.Status, p *control.Peer) { p.Endpoints = []string{"db.example:51820"} }, "address translation", doctor.OK, "a name"},
		{"small", func(_ *control.Status, p *control.Peer) {
			for i := range p.Paths {
				p.Paths[i].MTU = 1228
			}
		}, "path MTU", doctor.Warning, "1228"},
		{"a tunnel", func(_ *control.Status, p *control.Peer) {
			for i := range p.Paths {
				p.Paths[i].MTU = 1420
			}
		}, "path MTU", doctor.OK, "1420"},
		{"loss", func(_ *control.Status, p *control.Peer) { p.Paths[0].Lost = 4000 }, "loss", doctor.Warning, "5.0 % from 192.0.2.1"},
		{"bleached", func(_ *control.Status, p *control.Peer) {
			for i := range 8 {
				p.Paths[i].ReceivedNotECT = p.Paths[i].ReceivedPackets
			}
		}, "ECN in", doctor.Warning, "on 8 of 16 paths packets arrive without the ECN mark that every peer sets, from 203.0.113.9"},
		{"some other sender", func(_ *control.Status, p *control.Peer) { p.Paths[0].ReceivedNotECT = 9 }, "ECN in", doctor.OK, "on all 16 paths"},
		{"young", func(_ *control.Status, p *control.Peer) {
			for i := range p.Paths {
				p.Paths[i].ReceivedPackets, p.Paths[i].ReceivedNotECT = 5, 5
			}
		}, "ECN in", doctor.OK, "too few"},
		{"no segmentation", func(st *control.Status, _ *control.Peer) { st.Sends.Unsegmented = 900 }, "system calls", doctor.Warning, "segmentation"},
		{"no merging", func(st *control.Status, _ *control.Peer) { st.Receives.Merged = false }, "system calls", doctor.Warning, "merge"},
		{"drops", func(st *control.Status, _ *control.Peer) { st.Sends.NoBuffer = 5000 }, "sending", doctor.Warning, "5000 for want of room"},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, p := healthy()
			c.harm(st, p)
			for _, f := range Judge(st, p, nil, nil, nil) {
				switch {
				case f.Check == c.check:
					if f.Level != c.level || !strings.Contains(f.Saw, c.saw) || f.Level > doctor.OK && (f.Why == "" || f.Advice == "") {
						t.Errorf("%+v, want %v and %q", f, c.level, c.saw)
					}
				case f.Level != doctor.OK:
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// If a few ports never work, the cause is probably a filter. A failed uplink must not be reported
// as failed ports.
func TestPortsThatNeverPass(t *testing.T) {
	st, p := healthy()
	p.Paths[2].State, p.Paths[10].State = control.PathDown, control.PathDown
	p.Paths[3].State = control.PathDown
	for _, f := range Judge(st, p, nil, nil, nil) {
		if f.Check == "source ports" && (f.Level != doctor.Warning || f.Saw != "7 of 8 pass") {
			t.Errorf("%+v", f)
		}
	}
}

func TestWidth(t *testing.T) {
	pair := Pair{Local: netip.MustParseAddr("192.0.2.1"), Remote: netip.MustParseAddrPort("203.0.113.9:51820")}
	for want, w := range map[string]Ways{
		"at least 8": {pair, 8, nil}, "one is seen": {pair, 1, nil}, "no router": {pair, 0, nil}, "refused": {pair, 0, errors.New("refused")},
	} {
		if f := width(w); !strings.Contains(f.Saw, want) || f.Level != doctor.OK {
			t.Errorf("%+v, want %q", f, want)
		}
	}
}

// The peer's own status shows whether ports and ECN marks are changed on the way to the peer.
func TestWhatThePeerSees(t *testing.T) {
	const here, far = "here=", "far="
	see := func(harm func(there *control.Status)) map[string]doctor.Finding {
		st, p := healthy()
		st.PublicKey, st.ListenPort, p.PublicKey = here, 51820, far
		there := &control.Status{PublicKey: far, Peers: []control.Peer{{PublicKey: "other="}, {PublicKey: here}}}
		for _, path := range p.Paths {
			there.Peers[1].Paths = append(there.Peers[1].Paths, control.Path{Local: path.Remote, Remote: path.Local, State: control.PathActive, ReceivedPackets: 500})
		}
		there.Peers[1].Paths = append(there.Peers[1].Paths, control.Path{Remote: "192.0.2.1:51820", State: control.PathActive})
		harm(there)
		v := map[string]doctor.Finding{}
		for _, f := range Judge(st, p, nil, there, nil) {
			v[f.Check] = f
		}
		return v
	}
	for _, c := range []struct {
		name, check string
		harm        func(there *control.Status)
		level       doctor.Level
		saw         string
	}{
		{"nothing", "ports on the way", func(*control.Status) {}, doctor.OK, "from 17 addresses and ports, all of them this end's own"},
		{"other ports", "ports on the way", func(there *control.Status) {
			for i := range 3 {
				there.Peers[1].Paths[i].Remote = fmt.Sprintf("192.0.2.1:%d", 1024+i)
			}
		}, doctor.OK, "the peer sees 192.0.2.1:1024 and 2 more addresses and ports that this end does not have; 14 are"},
		{"another address", "ports on the way", func(there *control.Status) { there.Peers[1].Paths[5].Remote = "198.18.0.7:5005" }, doctor.OK, "198.18.0.7:5005 and 0 more"},
		{"a path of before", "ports on the way", func(there *control.Status) {
			there.Peers[1].Paths[5].Remote, there.Peers[1].Paths[5].State = "198.18.0.7:5005", control.PathDown
		}, doctor.OK, "from 16 addresses"},
		{"a zone that draws", "ports on the way", func(there *control.Status) {
			there.Peers[1].Paths[5].Remote = "[fe80::1%\n\x1b]0;owned\a]:5005"
		}, doctor.OK, "the peer sees [fe80::1]:5005 and 0 more"},
		{"a zone that draws", "ECN out", func(there *control.Status) {
			there.Peers[1].Paths[5].Remote, there.Peers[1].Paths[5].ReceivedNotECT = "[fe80::1%\n\x1b]0;owned\a]:5005", 500
		}, doctor.Warning, "from fe80::1"},
		{"somebody else", "ports on the way", func(there *control.Status) { there.PublicKey = here }, doctor.Warning, "is another peer's"},
		{"marks", "ECN out", func(*control.Status) {}, doctor.OK, "at the peer: ECN marks arrive on all 16 paths"},
		{"no marks", "ECN out", func(there *control.Status) { there.Peers[1].Paths[3].ReceivedNotECT = 500 }, doctor.Warning, "at the peer: on 1 of 16 paths"},
	} {
		f := see(c.harm)[c.check]
		if f.Level != c.level || !strings.Contains(f.Saw, c.saw) || f.Level > doctor.OK && f.Advice == "" {
			t.Errorf("%s: %+v, want %v %q", c.name, f, c.level, c.saw)
		}
	}
}

// The finding compares the packet sizes that pass the network with the MTU of this host's device.
func TestLargePackets(t *testing.T) {
	for _, c := range []struct {
		path, device int
		saw          string
	}{
		{1500, 1500, "1500"},
		{1500, 0, "1500"},
		{8900, 8900, "8900, found by itself: large packets cost less processor time"},
		{1500, 9001, "1500, although the device here takes 9001: the way or the peer's device takes no more"},
	} {
		st, p := healthy()
		for i := range p.Paths {
			p.Paths[i].MTU = c.path
		}
		for _, f := range Judge(st, p, nil, nil, func(netip.Addr) int { return c.device }) {
			if f.Check == "path MTU" && (f.Level != doctor.OK || f.Saw != c.saw) {
				t.Errorf("path %d, device %d: %+v", c.path, c.device, f)
			}
		}
	}
}
