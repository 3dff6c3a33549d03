// Command liar is a test peer that opens a normal session and then sends false or hostile
// packets. The peer encrypts packets of one of the kinds in rows.go with the session's keys, and
// sends them at a given rate. The end-to-end tests use this command.
package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/loop"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
	"github.com/srdtun/srdtun/srd/udp"
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
		l.index[0] ^= 0xff
	}
	begin := time.Now()
	for sent := 0.0; time.Since(begin) < *long; {
		if ahead := time.Duration(sent*8/(*rate*1e6)*1e9) - time.Since(begin); ahead > 0 {
			time.Sleep(ahead)
		}
		sent += float64(l.send(fill(l)))
	}
	fmt.Println(l.pn, "packets")
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

// liar holds a session, and counts its packets.
type liar struct {
	sender *udp.Sender
	train  *srd.Train // it has the keys
	index  [4]byte
	pn     uint64
	number uint32 // of messages
	turn   uint32 // of frames
}

// app sends one empty message, which reveals the session's parameters in its packet.
type app struct {
	srd.OneFlow
	left int
	sent uint32
}

func (a *app) Pull(mono.Time, int) (srd.Message, bool) {
	if a.left == 0 {
		return srd.Message{}, false
	}
	a.left--
	a.sent++
	return srd.Message{Data: []byte{0}}, true
}
func (a *app) Deliver(mono.Time, *srd.Message) {}
func (a *app) Restarted(mono.Time)             {}
func (a *app) Backlog() bool                   { return a.left > 0 }
func (a *app) Deadline() mono.Time             { return mono.Never }
func (a *app) Advance(mono.Time)               {}
func (a *app) Flush() bool                     { return false }

// meet completes a handshake with the peer.
func meet(private, public, local, to string) (*liar, error) {
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
	tuple := srd.Tuple{}
	if tuple.Remote, err = netip.ParseAddrPort(to); err != nil {
		return nil, err
	}
	from, err := netip.ParseAddr(local)
	if err != nil {
		return nil, err
	}
	tuple.Local = srd.UplinkOf(from, 0)
	bank, err := udp.Open(udp.Config{Ports: 1})
	if err != nil {
		return nil, err
	}
	driver, err := loop.New(loop.Config{Bank: bank, Endpoint: srd.NewEndpoint(id, rand.Reader), Workers: 1})
	if err != nil {
		return nil, err
	}
	a := &app{}
	p := driver.Add(srd.New(srd.Config{
		Identity: id, Remote: handshake.PublicKey(other), Offers: handshake.Hardware(), Incarnation: uint64(time.Now().UnixNano()),
		Rand: rand.Reader, Indexes: driver.Indexes(), MTU: func(srd.Tuple) int { return 1472 },
		Timestamp: func(mono.Time) handshake.Timestamp { return handshake.TimestampOf(time.Now()) },
		Policy:    steer.NewSpray(1), Control: cc.New(0),
	}), a)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { _ = driver.Run(ctx) }()
	p.Do(func(now mono.Time, c *srd.Conn) {
		c.SetTuples(now, []srd.Tuple{tuple})
		c.Connect(now)
	})
	p.Kick()
	l := &liar{sender: udp.NewSender(bank, &driver.Sends), train: srd.NewTrain()}
	for range 5000 {
		time.Sleep(time.Millisecond)
		ok := false
		p.Do(func(now mono.Time, c *srd.Conn) {
			a.left = 1
			if c.Session(now).Ready && c.Next(now, l.train, a) {
				_, ok = srd.DataIndex(l.train.Buf)
			}
			a.left = 0
		})
		if ok {
			// From now on, the connection does not receive the peer's packets. The peer
			// acknowledges packets that the connection never sent. The connection's own message
			// leaves under another packet number.
			stop()
			l.index, l.number = [4]byte(l.train.Buf[4:]), a.sent
			end := len(l.train.Buf) - (srd.Overhead - srd.HeaderLen)
			l.send(append([]byte(nil), l.train.Buf[srd.HeaderLen:end]...))
			return l, nil
		}
	}
	return nil, errors.New("no session")
}

// slot is a flow slot that the connection does not use.
const slot = 200

// send encrypts frames into the next packet, sends the packet, and returns its size.
func (l *liar) send(frames []byte) int {
	b := append(l.train.Buf[:0], 0x24, 0, 0, slot)
	b = append(b, l.index[:]...)
	b = binary.BigEndian.AppendUint64(b, l.pn)
	b = append(b, frames...)
	l.train.Buf = append(b, make([]byte, srd.Overhead-srd.HeaderLen)...)
	l.train.Size = len(l.train.Buf)
	l.pn++
	l.train.Seal()
	l.sender.Send(l.train)
	return len(l.train.Buf)
}
