package drill

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/liar"
	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// liarRate is the rate of a lying peer in bytes per second. A rate of some Mbit/s is too low
	// to slow down an honest peer's flow.
	liarRate = 4e6 / 8
	// liarPacket is the size of a lying peer's packets in bytes.
	liarPacket = 1200
	// lieMost is more bytes than one lie adds to a packet, so that the sender skips no packet
	// number.
	lieMost = 64
	// honestShare is the share of its goodput that an honest peer must keep beside a lying peer.
	honestShare = 0.95
	// liarMemory bounds the memory of the hub for the state of one peer, in MiB.
	liarMemory = 32
)

// lies are the kinds of false frames that a lying peer sends in authentic packets.
var lies = []struct {
	what string
	say  func(l *liars, f liar.Frames) liar.Frames
}{
	{"sequence numbers that jump", (*liars).jump},
	{"frames of a byte that are ahead, over all slots", (*liars).ahead},
	{"frames that are never whole", (*liars).unfinished},
	{"challenges", (*liars).challenge},
}

// liarRows runs a lying peer of a hub while another peer of the hub sends a TCP flow.
func liarRows(r *run) error {
	f, err := r.fabric(fabric.Spec{HostsB: 2})
	if err != nil {
		return err
	}
	l, hub, err := r.hub(f)
	if err != nil {
		return err
	}
	u, err := hub.Usage()
	if err != nil {
		return err
	}
	each := r.pick(3*time.Second, 10*time.Second)
	var all []func() error
	for _, lie := range lies {
		all = append(all, func() error { return l.lie(each, lie.say) })
	}
	shares, err := r.beside(f, each, all...)
	if err != nil {
		return err
	}
	after, err := hub.Usage()
	if err != nil {
		return fmt.Errorf("the hub ended: %w", err)
	}
	for i, share := range shares {
		r.least(lies[i].what+": what an honest peer keeps", share, honestShare, "")
	}
	r.most("more resident memory of the hub", float64(max(0, after.Peak-u.RSS))/(1<<20), liarMemory, " MiB")
	r.most("bytes answered for each that was sent", float64(l.got.Load())/float64(l.sent), 1, "")
	return nil
}

// hub starts node B as a hub with two peers. The peers are node A, and a lying peer on the second
// host of the hub's side.
func (r *run) hub(f *fabric.Fabric) (*liars, *tunnel.Node, error) {
	id, err := newIdentity()
	if err != nil {
		return nil, nil, err
	}
	p, err := r.pair(f.A(1), f.B(1), tunnel.Config{})
	if err != nil {
		return nil, nil, err
	}
	if err := p.B.Stop(); err != nil {
		return nil, nil, err
	}
	public := id.Public()
	p.B.Config.Peers = append(p.B.Config.Peers, tunnel.Peer{
		Name: "liar", PublicKey: base64.StdEncoding.EncodeToString(public[:]), AllowedIPs: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(9), 32)},
	})
	if err := p.B.Start(); err != nil {
		return nil, nil, err
	}
	if err := p.A.Await(tunnel.Inner4(2)); err != nil {
		return nil, nil, err
	}
	l, err := r.liar(f.B(2), netip.AddrPortFrom(f.B(1).Addr4(), tunnel.DefaultPort), id, p.B.PublicKey)
	return l, p.B, err
}

func newIdentity() (*handshake.Identity, error) {
	var private handshake.PrivateKey
	rand.Read(private[:]) // never fails (crypto/rand, Go 1.24)
	return handshake.NewIdentity(private)
}

// liars is the state of a lying peer with a session.
type liars struct {
	conn    *net.UDPConn
	at      netip.AddrPort // the hub
	session *liar.Session
	number  uint32 // of the next message
	seq     uint32 // of the next frame
	slot    uint16 // of its flow
	sent    int    // bytes
	got     atomic.Int64
}

// liar completes a handshake with the hub as a configured peer, and proves its address.
func (r *run) liar(from *fabric.Host, at netip.AddrPort, id *handshake.Identity, hub string) (*liars, error) {
	key, err := base64.StdEncoding.DecodeString(hub)
	if err != nil {
		return nil, err
	}
	c, err := from.ListenPacket("udp4", ":0")
	if err != nil {
		return nil, err
	}
	r.later(c.Close)
	l := &liars{conn: c.(*net.UDPConn), at: at}
	peer := liar.New(liar.Config{Identity: id, Remote: handshake.PublicKey(key), Offers: handshake.Hardware(), Incarnation: 1, Rand: rand.Reader})
	call := peer.Call(mono.Time(time.Second), handshake.TimestampOf(time.Now()))
	if _, err := c.WriteTo(call, net.UDPAddrFromAddrPort(at)); err != nil {
		return nil, err
	}
	buf := make([]byte, 2000)
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		_ = c.SetReadDeadline(end)
		n, _, err := c.ReadFrom(buf)
		if err != nil {
			break
		}
		l.take(peer, buf[:n])
	}
	if l.session == nil {
		return nil, fmt.Errorf("the hub does not answer its peer")
	}
	_ = c.SetReadDeadline(time.Time{})
	go l.count()
	return l, nil
}

// take handles the response and the path challenges of the hub.
func (l *liars) take(peer *liar.Peer, b []byte) {
	if l.session == nil {
		if l.session = peer.Respond(b); l.session != nil {
			l.write(liar.Frames{}.Ping())
		}
		return
	}
	if _, plain, ok := l.session.Open(b); ok {
		liar.Each(plain, func(f *liar.Frame) {
			if f.Kind == liar.KindChallenge {
				l.write(liar.Frames{}.Response(f.Secret))
			}
		})
	}
}

func (l *liars) write(f liar.Frames) {
	_, _ = l.conn.WriteToUDPAddrPort(l.session.Seal(0, f), l.at) // nothing is promised
}

// count adds up the bytes that the hub sends back.
func (l *liars) count() {
	buf := make([]byte, 2000)
	for {
		n, _, err := l.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		l.got.Add(int64(n))
	}
}

// lie sends frames of the same kind for some time.
func (l *liars) lie(lasts time.Duration, say func(*liars, liar.Frames) liar.Frames) error {
	begun, sent := time.Now(), 0
	for time.Since(begun) < lasts {
		for sent < int(time.Since(begun).Seconds()*liarRate) {
			var f liar.Frames
			for len(f) <= liarPacket-liar.Overhead-lieMost {
				f = say(l, f)
			}
			b := l.session.Seal(0, f)
			if _, err := l.conn.WriteToUDPAddrPort(b, l.at); err != nil {
				return err
			}
			sent += len(b)
		}
		time.Sleep(time.Millisecond)
	}
	l.sent += sent
	return nil
}

// message appends a message that has one byte of a frame (docs/wire.md, the immediate).
func (l *liars) message(f liar.Frames, slot uint16, seq uint32, length uint16) liar.Frames {
	const ordered = 16
	var imm liar.Imm
	binary.BigEndian.PutUint16(imm[0:], slot)
	binary.BigEndian.PutUint32(imm[2:], seq)
	binary.BigEndian.PutUint16(imm[8:], length)
	imm[12] = ordered
	l.number++
	return f.Message(l.number-1, &imm, []byte{0x45})
}

// slots is the number of flow slots of a session.
const slots = 4096

func (l *liars) jump(f liar.Frames) liar.Frames {
	l.seq += 8191
	return l.message(l.message(f, 1, l.seq, 1), 1, l.seq+1, 1)
}

func (l *liars) ahead(f liar.Frames) liar.Frames {
	l.slot++
	l.seq += 2
	return l.message(f, l.slot%slots, l.seq|1, 1)
}

func (l *liars) unfinished(f liar.Frames) liar.Frames {
	l.slot++
	l.seq += 3
	return l.message(f, l.slot%slots, l.seq, 100)
}

func (l *liars) challenge(f liar.Frames) liar.Frames {
	l.seq++
	return f.Challenge(liar.Secret{byte(l.seq), byte(l.seq >> 8), byte(l.seq >> 16)})
}
