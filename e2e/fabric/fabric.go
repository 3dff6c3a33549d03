package fabric

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
)

// Fabric is a running leaf-spine network. Several goroutines may call methods of a Fabric at the
// same time. After Close, no method of the Fabric may be called.
type Fabric struct {
	Spec   Spec
	LeafA  *Namespace
	LeafB  *Namespace
	Spines []*Namespace // spine n is Spines[n-1]
	// Lines[n-1] is the cut in the cable between leaf A and spine n, or nil without Spec.Lines.
	Lines []*Namespace

	hostsA, hostsB []*Host
	prefix         string
	all            []*Namespace
	closeOnce      sync.Once
	closeErr       error
}

// Host is an end system with its addresses. In a Fabric, the only network card of a host is
// "eth0". In a Direct, a host has one network card for each address.
type Host struct {
	*Namespace
	V4, V6 []netip.Addr
}

// Addr4 is the host's first IPv4 address.
func (h *Host) Addr4() netip.Addr { return h.V4[0] }

// Addr6 is the host's first IPv6 address.
func (h *Host) Addr6() netip.Addr { return h.V6[0] }

// A returns the host hA<n>; the first is A(1).
func (f *Fabric) A(n int) *Host { return f.hostsA[n-1] }

// B returns the host hB<n>; the first is B(1).
func (f *Fabric) B(n int) *Host { return f.hostsB[n-1] }

// built counts the fabrics of this process, so that their names differ.
var built atomic.Int64

// New builds a fabric in about a second. If New fails, it removes everything that it has built.
func New(spec Spec) (*Fabric, error) {
	spec, err := spec.withDefaults()
	if err != nil {
		return nil, err
	}
	if os.Geteuid() != 0 {
		return nil, errors.New("fabric: namespaces can be made by root only")
	}
	f := &Fabric{Spec: spec, prefix: fmt.Sprintf("%s%d-", Prefix(), built.Add(1))}
	if err := f.build(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close ends every process inside the fabric, and removes the fabric. A second call of Close does
// nothing.
func (f *Fabric) Close() error {
	f.closeOnce.Do(func() { f.closeErr = removeAll(f.all) })
	return f.closeErr
}

// namespace makes a namespace for a host, leaf or spine, and stores it for Close.
func (f *Fabric) namespace(name string) (*Namespace, error) {
	n, err := newNamespace(f.prefix + name)
	if n != nil {
		f.all = append(f.all, n)
	}
	return n, err
}
