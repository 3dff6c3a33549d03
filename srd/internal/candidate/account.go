package candidate

import (
	"fmt"
	"net/netip"

	"github.com/srdtun/srdtun/srd/mono"
)

// account limits the bytes that may be sent to one remote address, with all its ports.
type account struct {
	addr   netip.Addr
	credit int       // bytes
	next   mono.Time // no challenge to any candidate at the address before this time
	used   mono.Time // when the address last earned credit
	tries  uint8     // challenges so far, up to the largest number that has an effect
	left   uint8     // challenges that all its candidates together may still get before the next packet from the address
	trust  bool      // the address was proven at the last check
	look   uint32
}

// Earn credits addr for an authentic packet of n bytes.
func (t *Table[T]) Earn(now mono.Time, addr netip.Addr, n int, trusts func(netip.Addr) bool) {
	a := t.account(addr)
	if a == nil {
		a = t.open(addr)
	}
	t.trusted(a, trusts) // if the peer had left the address, this resets the account before the packet counts
	if now.Sub(a.used) > Life {
		a.tries, a.next = 0, 0
	}
	a.used, a.left, t.until = now, Tries, 0
	a.credit = min(a.credit+Amplification*n, CreditMost)
}

// Spend charges n bytes to the account of addr before they are sent. If the credit is
// less than n, Spend returns false, and the caller must not send.
func (t *Table[T]) Spend(addr netip.Addr, n int) bool {
	a := t.account(addr)
	if a == nil || a.credit < n {
		return false
	}
	a.credit -= n
	return true
}

// Recheck must be called when paths have changed. The table then checks again whether
// addresses are proven.
func (t *Table[T]) Recheck() { t.looked, t.until = t.looked+1, 0 }

// trusted reports whether the address of the account `a` is proven. An address that is no
// longer proven gets no challenges until a packet comes from it.
func (t *Table[T]) trusted(a *account, trusts func(netip.Addr) bool) bool {
	if a.look == t.looked+1 {
		return a.trust
	}
	before := a.trust
	a.look, a.trust = t.looked+1, trusts(a.addr)
	if before && !a.trust {
		a.left, a.tries, a.next = 0, 0, 0
	}
	return a.trust
}

func (t *Table[T]) account(addr netip.Addr) *account {
	for i := range t.accounts {
		if t.accounts[i].addr == addr {
			return &t.accounts[i]
		}
	}
	return nil
}

// open opens an account for a new address. If the table is full, open() replaces the
// account that has earned no credit for longest.
func (t *Table[T]) open(addr netip.Addr) *account {
	if len(t.accounts) < Accounts {
		t.accounts = append(t.accounts, account{addr: addr})
		return &t.accounts[len(t.accounts)-1]
	}
	out := &t.accounts[0]
	for i := range t.accounts {
		if t.accounts[i].used < out.used {
			out = &t.accounts[i]
		}
	}
	*out = account{addr: addr}
	return out
}

// Rest frees the memory. The credit is lost, too, but Rest is called only for idle peers.
func (t *Table[T]) Rest() {
	t.Clear()
	t.accounts = nil
}

// Within returns an error if a bound is exceeded or a count is wrong.
func (t *Table[T]) Within() error {
	waiting := 0
	for i := range t.all {
		if t.all[i].proven {
			waiting++
		}
	}
	if waiting != t.waiting || waiting > Waits || len(t.all)-waiting > Most {
		return fmt.Errorf("%d candidates, %d of them proven, booked %d", len(t.all), waiting, t.waiting)
	}
	if len(t.accounts) > Accounts {
		return fmt.Errorf("%d accounts of addresses", len(t.accounts))
	}
	for i := range t.accounts {
		if a := &t.accounts[i]; a.credit < 0 || a.credit > CreditMost {
			return fmt.Errorf("%d bytes may be sent to %v", a.credit, a.addr)
		}
	}
	return nil
}
