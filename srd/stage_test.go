package srd

import (
	"fmt"
	"testing"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/internal/wire"
)

// sealer holds the keys of one session for both directions, and a train of full packets.
type sealer struct {
	train  *Train
	keys   *RecvKeys
	nonce  Nonce
	packet []byte // one sealed packet
	spoilt []byte // a copy of it that open overwrites
	pn     uint64
}

func newSealer(t testing.TB, c handshake.Cipher, packets, size int) *sealer {
	t.Helper()
	key := [32]byte{1, 2, 3}
	aead, err := c.New(key)
	if err != nil {
		t.Fatal(err)
	}
	s := &sealer{train: NewTrain(), keys: &RecvKeys{aead: aead}}
	s.train.reset(Tuple{}, &SendKeys{aead: aead, remote: 7})
	payload := make([]byte, size)
	for range packets {
		from := len(s.train.Buf)
		s.pn++
		b := s.train.open(1, s.pn)
		b = wire.AppendMessage(b, uint32(s.pn), &Imm{}, payload[:size-wire.Overhead-wire.MessageOverhead])
		s.train.close(b, from, 0)
	}
	return s
}

// seal seals the train once more. The train is sealed already, but to the cipher these are
// only bytes.
func (s *sealer) seal() { s.train.Seal() }

// hold stores the first packet for the method open().
func (s *sealer) hold() {
	s.seal()
	s.packet = append([]byte(nil), s.train.Buf[:s.train.Size]...)
	s.spoilt = make([]byte, len(s.packet))
}

func (s *sealer) open() bool {
	copy(s.spoilt, s.packet) // opening overwrites the packet
	_, ok := s.keys.Open(s.spoilt, &s.nonce)
	return ok
}

var ciphers = []handshake.Cipher{handshake.AES256GCM, handshake.AES128GCM, handshake.ChaCha20Poly1305}

func TestSealingAndOpeningDoNotAllocate(t *testing.T) {
	for _, c := range ciphers {
		s := newSealer(t, c, 10, 1472)
		if n := testing.AllocsPerRun(100, s.seal); n != 0 {
			t.Errorf("%v: sealing a train: %v allocations", c, n)
		}
		s = newSealer(t, c, 1, 1472)
		s.hold()
		if n := testing.AllocsPerRun(100, func() {
			if !s.open() {
				t.Fatal("does not open")
			}
		}); n != 0 {
			t.Errorf("%v: opening: %v allocations", c, n)
		}
	}
}

// BenchmarkSeal seals one train of full packets.
func BenchmarkSeal(b *testing.B) {
	for _, c := range ciphers {
		for _, packets := range []int{1, 44} {
			b.Run(fmt.Sprintf("%v/packets=%d", c, packets), func(b *testing.B) {
				s := newSealer(b, c, packets, 1472)
				b.SetBytes(int64(len(s.train.Buf)))
				b.ReportAllocs()
				for b.Loop() {
					s.seal()
				}
			})
		}
	}
}

// BenchmarkOpen opens one packet, and copies it first.
func BenchmarkOpen(b *testing.B) {
	for _, c := range ciphers {
		for _, size := range []int{200, 1472} {
			b.Run(fmt.Sprintf("%v/size=%d", c, size), func(b *testing.B) {
				s := newSealer(b, c, 1, size)
				s.hold()
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					if !s.open() {
						b.Fatal("does not open")
					}
				}
			})
		}
	}
}

// BenchmarkSend measures the transport's work for a window of 20 messages: it builds the
// trains without sealing them, and handles one acknowledgement.
func BenchmarkSend(b *testing.B) {
	s := newSending(b, 20e3)
	b.SetBytes(windowPackets * 1420)
	b.ReportAllocs()
	for b.Loop() {
		s.round()
	}
	if got := int(s.c.env.stats.Sent); got < b.N*(windowPackets-1) || s.c.env.stats.Retransmitted > 0 {
		b.Errorf("%d messages in %d rounds, %d sent again", got, b.N, s.c.env.stats.Retransmitted)
	}
}

// BenchmarkReceive measures the transport's work for one packet with one message: it
// handles the packet, delivers the message, and sends an acknowledgement when one is due.
func BenchmarkReceive(b *testing.B) {
	s := newReceiving(b, 1420, 1e3)
	b.SetBytes(1420)
	b.ReportAllocs()
	for b.Loop() {
		s.round()
	}
	if got := int(s.c.env.stats.Received); got != b.N {
		b.Errorf("%d messages of %d packets", got, b.N)
	}
}
