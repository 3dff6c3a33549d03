package srd_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
)

// An address is in the set as long as anybody holds it. An IPv4 address and its IPv4-mapped
// IPv6 form are the same address.
func TestAddressSet(t *testing.T) {
	var s srd.AddressSet
	a := netip.MustParseAddr("192.0.2.1")
	mapped := netip.AddrFrom16(a.As16())
	s.Hold(a)
	s.Hold(mapped)
	s.Release(a)
	if !s.Has(a) || !s.Has(mapped) {
		t.Error("released once, held twice, and gone")
	}
	s.Release(a)
	s.Release(a)
	if s.Has(a) {
		t.Error("nobody holds it, and it is there")
	}
	if s.Hold(a); !s.Has(a) {
		t.Error("it was released too often once, and cannot be held any more")
	}
}

// A Conn reports its peer's addresses: an address that the Conn calls at once, and an
// address from which the peer called once it is proven. A closed Conn reports none.
func TestConnTellsWhereItsPeerIs(t *testing.T) {
	p := newPair(t, 40, links(4)...)
	a, b := p.tuple(1, 0).Remote.Addr(), p.tuple(0, 0).Remote.Addr()
	h := p.host[0]
	h.conn.SetTuples(p.now, p.tuples(0))
	if h.conn.Connect(p.now); !h.where.Has(b) {
		t.Error("the address that is called is unknown")
	}
	h.service()
	if p.host[1].where.Has(a) {
		t.Error("an address nobody was heard from is known")
	}
	p.connect()
	p.run(time.Second, never)
	if !h.where.Has(b) || !p.host[1].where.Has(a) {
		t.Error("the address of a peer with a session is unknown")
	}
	for _, h := range p.host {
		if h.conn.Close(p.now, h.train); h.where.Has(a) || h.where.Has(b) {
			t.Error("the address of a peer that is gone is known")
		}
	}
}
