package srd

import (
	"bytes"
	"testing"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"pgregory.net/rapid"
)

// lender is a reference-counted owner.
type lender struct {
	data []byte
	refs int
}

func (l *lender) Done(Status) { l.Release() }
func (l *lender) Retain()     { l.refs++ }
func (l *lender) Release() {
	if l.refs--; l.refs == 0 {
		clear(l.data) // another user has the buffer now
	}
}

// lone is an owner without a reference count.
type lone struct{}

func (lone) Done(Status) {}

// A train has the same bytes whether Next or Seal copies the payloads, even if the
// transport releases the payloads in between. After the train is sealed, it retains no
// payload.
func TestSharedPayloads(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		now, later := NewTrain(), NewTrain().Borrow()
		var lenders []*lender
		var l *lender
		keys := &SendKeys{remote: 7}
		now.reset(Tuple{}, keys)
		later.reset(Tuple{}, keys)
		for pn := range rapid.IntRange(1, 10).Draw(r, "packets") {
			from := len(now.Buf)
			a, b := now.open(1, uint64(pn)), later.open(1, uint64(pn))
			for n := range rapid.IntRange(1, 4).Draw(r, "messages") {
				if l == nil || rapid.Bool().Draw(r, "new owner") {
					l = &lender{data: bytes.Repeat([]byte{byte(1 + len(lenders))}, 300)}
					lenders = append(lenders, l)
				}
				m := Message{Data: l.data[:rapid.IntRange(0, 300).Draw(r, "size")], Owner: l, Imm: Imm{byte(n)}}
				if rapid.IntRange(0, 3).Draw(r, "owner") == 0 {
					m.Owner = lone{}
					m.Data = bytes.Clone(m.Data)
				} else {
					l.refs++
				}
				a, b = now.loans.message(a, uint32(n), &m), later.loans.message(b, uint32(n), &m)
			}
			now.close(a, from, 1472)
			later.close(b, from, 1472)
		}
		want := bytes.Clone(now.Buf)
		for _, l := range lenders {
			for held := l.refs - retained(later, l); held > 0; held-- {
				l.Done(Acknowledged)
			}
		}
		later.keys = nil // so the packets stay unencrypted
		later.Seal()
		if !bytes.Equal(later.Buf, want) || later.Size != now.Size {
			r.Fatalf("%x, want %x", later.Buf, want)
		}
		for i, l := range lenders {
			if l.refs != 0 {
				r.Fatalf("owner %d is held %d times", i, l.refs)
			}
		}
	})
}

// retained returns how often a train has retained l.
func retained(t *Train, l *lender) (n int) {
	for _, s := range t.loans.lent {
		if s.owner != nil && s.owner == Shared(l) {
			n++
		}
	}
	return n
}

// When a train that was never sealed is used again, it releases the payloads that it
// retained.
func TestTrainsThatAreNotSealed(t *testing.T) {
	l := &lender{data: []byte("payload"), refs: 1}
	train := NewTrain().Borrow()
	train.reset(Tuple{}, &SendKeys{})
	train.close(train.loans.message(train.open(1, 1), 1, &Message{Data: l.data, Owner: l}), 0, 0)
	if l.refs != 2 {
		t.Fatalf("held %d times, want by the transport and the train", l.refs)
	}
	train.reset(Tuple{}, nil)
	if l.refs != 1 || len(train.loans.lent) != 0 || !train.loans.wanted {
		t.Errorf("held %d times, %d payloads", l.refs, len(train.loans.lent))
	}
}

// A message takes the same number of bytes in a train, whether Next or Seal copies its
// payload.
func TestHeadOfAMessage(t *testing.T) {
	payload := []byte("payload")
	whole := wire.AppendMessage(nil, 9, &Imm{1}, payload)
	if got := append(wire.AppendMessageHead(nil, 9, &Imm{1}, len(payload)), payload...); !bytes.Equal(got, whole) {
		t.Errorf("%x, want %x", got, whole)
	}
}
