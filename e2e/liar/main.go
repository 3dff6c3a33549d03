// Command liar is a test peer that opens a normal session and then sends false or hostile
// packets. The peer encrypts packets of one of the kinds in rows.go with the session's keys, and
// sends them at a given rate. The end-to-end tests use this command.
package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/liar"
	"github.com/srdtun/srdtun/srd/mono"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "liar:", err)
		os.Exit(1)
	}
}

func run() error {
	private := flag.String("key", "", "its private key, base64")
	public := flag.String("peer", "", "the public key of the peer that it lies to, base64")
	to := flag.String("to", "", "and that peer's address and port")
	local := flag.String("local", "", "address to send from")
	name := flag.String("row", "", "what it sends")
	rate := flag.Float64("mbit", 4, "and how much of that, Mbit/s of packets")
	long := flag.Duration("for", 10*time.Second, "and for how long")
	refused := flag.Bool("refused", false, "send it for a session that the peer does not have, so that its kernel takes nothing of it")
	flag.Parse()
	fill := rows[*name]
	if fill == nil {
		return fmt.Errorf("there is no row %q", *name)
	}
	l, err := meet(*private, *public, *local, *to)
	if err != nil {
		return err
	}
	if *refused {
		l.session.Remote ^= 0xff << 24
	}
	begin, sent := time.Now(), 0
	for time.Since(begin) < *long {
		if ahead := time.Duration(float64(sent)*8/(*rate*1e6)*1e9) - time.Since(begin); ahead > 0 {
			time.Sleep(ahead)
		}
		sent += l.send(fill(l))
	}
	fmt.Println(sent, "bytes sent,", l.got.Load(), "bytes answered")
	return nil
}

func key(text string) (k [32]byte, err error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err == nil && len(b) != len(k) {
		err = errors.New("a key has 32 bytes")
	}
	copy(k[:], b)
	return k, err
}

// sender holds a session, and counts its messages.
type sender struct {
	conn    *net.UDPConn
	session *liar.Session
	number  uint32       // of messages
	turn    uint32       // of frames
	got     atomic.Int64 // bytes from the peer, after the lies have begun
}

// meetTime is the time for the handshake and for the peer's challenges.
const meetTime = time.Second

// meet completes a handshake with the peer, and proves its address. Later packets of the peer are
// only counted.
func meet(private, public, local, to string) (*sender, error) {
	own, err := key(private)
	if err != nil {
		return nil, err
	}
	other, err := key(public)
	if err != nil {
		return nil, err
	}
	id, err := handshake.NewIdentity(handshake.PrivateKey(own))
	if err != nil {
		return nil, err
	}
	at, err := netip.ParseAddrPort(to)
	if err != nil {
		return nil, err
	}
	from, err := netip.ParseAddr(local)
	if err != nil {
		return nil, err
	}
	l := &sender{}
	if l.conn, err = net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), net.UDPAddrFromAddrPort(at)); err != nil {
		return nil, err
	}
	peer := liar.New(liar.Config{
		Identity: id, Remote: handshake.PublicKey(other), Offers: handshake.Hardware(), Incarnation: uint64(time.Now().UnixNano()), Rand: rand.Reader,
	})
	if _, err := l.conn.Write(peer.Call(mono.Time(time.Second), handshake.TimestampOf(time.Now()))); err != nil {
		return nil, err
	}
	if err := l.conn.SetReadDeadline(time.Now().Add(meetTime)); err != nil {
		return nil, err
	}
	for buf := make([]byte, 2000); ; {
		n, err := l.conn.Read(buf)
		if err != nil {
			break
		}
		l.take(peer, buf[:n])
	}
	if l.session == nil {
		return nil, errors.New("no session")
	}
	if err := l.conn.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	go l.count()
	return l, nil
}

// take handles the peer's response and its path challenges.
func (l *sender) take(peer *liar.Peer, b []byte) {
	if l.session == nil {
		if l.session = peer.Respond(b); l.session != nil {
			l.send(liar.Frames{}.Ping())
		}
		return
	}
	if _, plain, ok := l.session.Open(b); ok {
		liar.Each(plain, func(f *liar.Frame) {
			if f.Kind == liar.KindChallenge {
				l.send(liar.Frames{}.Response(f.Secret))
			}
		})
	}
}

// count adds up the peer's bytes.
func (l *sender) count() {
	for buf := make([]byte, 2000); ; {
		n, err := l.conn.Read(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		l.got.Add(int64(n))
	}
}

// send encrypts frames into the next packet, sends the packet, and returns its size.
func (l *sender) send(frames []byte) int {
	b := l.session.Seal(0, frames)
	_, _ = l.conn.Write(b) // the network may lose it as well
	return len(b)
}
