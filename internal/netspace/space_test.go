package netspace

import (
	"net"
	"testing"
)

// A new namespace has only the interface lo, which is up.
func TestNamespaceIsItsOwn(t *testing.T) {
	a, b := New(t), New(t)
	if a.Thread() == b.Thread() {
		t.Errorf("thread %d twice", a.Thread())
	}
	for _, s := range []*Space{a, b} {
		s.Must(t, func() error {
			all, err := net.Interfaces()
			if len(all) != 1 || all[0].Flags&net.FlagLoopback == 0 || all[0].Flags&net.FlagUp == 0 {
				t.Errorf("%v, want lo, up", all)
			}
			return err
		})
	}
}

// A listener in one namespace is unreachable from another, and Do runs a function in its
// own namespace.
func TestNamespacesAreApart(t *testing.T) {
	a, b := New(t), New(t)
	var l net.Listener
	a.Must(t, func() (err error) { l, err = net.Listen("tcp4", "127.0.0.1:0"); return err })
	defer l.Close()
	dial := func() error {
		c, err := net.Dial("tcp4", l.Addr().String())
		if err == nil {
			c.Close()
		}
		return err
	}
	a.Must(t, dial)
	if b.Do(dial) == nil {
		t.Error("a listener in one namespace is reached in the other")
	}
}
