package fabric

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
)

// maxLinks bounds the number of cables of a Direct. The address plan has one octet for the cable,
// and no comparison needs more than 16 cables.
const maxLinks = 16

// DirectSpec describes the cables between two hosts.
type DirectSpec struct {
	Links int // veth pairs, each with a separate IP network; 0 means 1
	// With WireLike, packets of MTU size cross the cables, as with real network cards. Otherwise,
	// a veth carries whole super-frames of 64 KB.
	WireLike bool
	// Switch puts a bridge into the middle of the only cable. The bridge has the ports SwitchToA
	// and SwitchToB, where a test can limit traffic.
	Switch bool
}

// SwitchToA and SwitchToB are the ports of the bridge in a Direct.
const (
	SwitchToA = "toA"
	SwitchToB = "toB"
)

// Direct is a network of two hosts, cables without a rate limit, and at most one switch. Cable k,
// counted from 0, is "eth<k>" at both ends, with 10.1.<k+1>.1/24 at A and 10.1.<k+1>.2/24 at B.
type Direct struct {
	Spec   DirectSpec
	A, B   *Host
	Switch *Namespace // nil: there is none

	all       []*Namespace
	closeOnce sync.Once
	closeErr  error
}

// NewDirect builds a Direct in about half a second. If NewDirect fails, it removes everything
// that it has built.
func NewDirect(spec DirectSpec) (*Direct, error) {
	if spec.Links == 0 {
		spec.Links = 1
	}
	if spec.Links < 1 || spec.Links > maxLinks {
		return nil, fmt.Errorf("fabric: Links = %d, want 1..%d", spec.Links, maxLinks)
	}
	if spec.Switch && spec.Links > 1 {
		return nil, fmt.Errorf("fabric: a switch has one cable to each host, not %d", spec.Links)
	}
	if os.Geteuid() != 0 {
		return nil, errors.New("fabric: namespaces can be made by root only")
	}
	d := &Direct{Spec: spec}
	if err := d.build(fmt.Sprintf("%s%d-", Prefix(), built.Add(1))); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close ends all processes inside the two namespaces, and removes the namespaces. A second call
// of Close does nothing.
func (d *Direct) Close() error {
	d.closeOnce.Do(func() { d.closeErr = removeAll(d.all) })
	return d.closeErr
}

func (d *Direct) build(prefix string) (err error) {
	if err := allowCubic(); err != nil {
		return err
	}
	if d.A, err = d.host(prefix+"A", 1); err != nil {
		return err
	}
	if d.B, err = d.host(prefix+"B", 2); err != nil {
		return err
	}
	if d.Spec.Switch {
		if d.Switch, err = d.namespace(prefix + "S"); err != nil {
			return err
		}
	}
	if err := d.plug(); err != nil {
		return err
	}
	for _, to := range d.B.V4 {
		if err := d.A.pingOnce(to); err != nil {
			return err
		}
	}
	return nil
}

// host makes one of the two hosts. The argument last is the last octet of all addresses of the
// host.
func (d *Direct) host(name string, last int) (*Host, error) {
	n, err := d.namespace(name)
	if err != nil {
		return nil, err
	}
	h := &Host{Namespace: n}
	for k := range d.Spec.Links {
		h.V4 = append(h.V4, addr4(1, k+1, last))
	}
	return h, n.setSysctl(hostSysctl)
}

// namespace makes a namespace that Close will remove.
func (d *Direct) namespace(name string) (*Namespace, error) {
	n, err := newNamespace(name)
	if n != nil {
		d.all = append(d.all, n)
	}
	return n, err
}

// plug creates the cables, and sets the addresses of both ends.
func (d *Direct) plug() error {
	if err := d.cables(); err != nil {
		return err
	}
	for _, h := range []*Host{d.A, d.B} {
		var b batch
		for k, a := range h.V4 {
			b.add("addr add %s dev eth%d", netip.PrefixFrom(a, 24), k)
			b.add("link set eth%d up", k)
		}
		if err := b.apply("ip", h.Namespace); err != nil {
			return err
		}
		for k := range h.V4 {
			if !d.Spec.WireLike {
				continue
			}
			if err := h.WireLike(fmt.Sprintf("eth%d", k)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *Direct) cables() error {
	var b batch
	if d.Switch == nil {
		for k := range d.Spec.Links {
			b.add("link add eth%d netns %s type veth peer name eth%d netns %s", k, d.A.Name, k, d.B.Name)
		}
		return b.apply("ip", nil)
	}
	b.add("link add eth0 netns %s type veth peer name %s netns %s", d.A.Name, SwitchToA, d.Switch.Name)
	b.add("link add eth0 netns %s type veth peer name %s netns %s", d.B.Name, SwitchToB, d.Switch.Name)
	if err := b.apply("ip", nil); err != nil {
		return err
	}
	var inside batch
	inside.add("link add switch0 type bridge")
	inside.add("link set switch0 up")
	for _, port := range []string{SwitchToA, SwitchToB} {
		inside.add("link set %s master switch0 up", port)
	}
	return inside.apply("ip", d.Switch)
}
