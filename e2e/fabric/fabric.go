package fabric

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
)

// Fabric is a running network. Several goroutines may call its methods at once. No method may
// be called after Close.
type Fabric struct {
	Spec   Spec
	LeafA  *Namespace
	LeafB  *Namespace
	Spines []*Namespace // spine n is Spines[n-1]
	// Lines[n-1] is between leaf A and spine n; it is nil without Spec.Lines.
	Lines []*Namespace

	hostsA, hostsB []*Host
	prefix         string
	all            []*Namespace
	closeOnce      sync.Once
	closeErr       error
}

// Host is an end system. In a Fabric the host's one network card is "eth0". In a Direct the
// host has a card for each address.
type Host struct {
	*Namespace
	V4, V6 []netip.Addr
}

// Addr4 is the host's first IPv4 address.
func (h *Host) Addr4() netip.Addr { return h.V4[0] }

// Addr6 is the host's first IPv6 address.
func (h *Host) Addr6() netip.Addr { return h.V6[0] }

// A returns host hA<n>, n from 1.
func (f *Fabric) A(n int) *Host { return f.hostsA[n-1] }

// B returns host hB<n>, n from 1.
func (f *Fabric) B(n int) *Host { return f.hostsB[n-1] }

// built counts the fabrics of this process, so that each has its own names.
var built atomic.Int64

// New builds a fabric in about a second. After an error nothing remains.
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

// Close ends every process inside the fabric and removes the fabric. It may be called twice.
func (f *Fabric) Close() error {
	f.closeOnce.Do(func() { f.closeErr = removeAll(f.all) })
	return f.closeErr
}

// namespace makes one box of the fabric and remembers it for Close.
func (f *Fabric) namespace(name string) (*Namespace, error) {
	n, err := newNamespace(f.prefix + name)
	if n != nil {
		f.all = append(f.all, n)
	}
	return n, err
}
