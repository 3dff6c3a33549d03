package swarm

import (
	"fmt"
	"time"

	"github.com/srdtun/srdtun/sim/host"
	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/steer"
)

// FaultKind identifies a kind of fault.
type FaultKind uint8

// These constants are the kinds of faults.
const (
	OneWayDown  FaultKind = iota // one direction of a cable
	BothWayDown                  // a cable
	SpineDown                    // a spine with all its cables
	Blackout                     // every cable
	Flap                         // a cable fails again and again
	ShrinkMTU                    // one direction of a cable gets a smaller MTU
	Rehash                       // a leaf's ECMP hash changes, as with a route change
	Rebind                       // a host's address translator loses its mappings
	Pause                        // a host's program is suspended
	Restart                      // a host's program is killed and started again
	CrashLoop                    // a host's program is killed and started again and again
	ClockStep                    // a host's wall clock jumps
	Detour                       // a cable becomes longer
	Brownout                     // one direction of a cable becomes slower
	Stop                         // a host's program is ended properly and started again
	Policy                       // a host chooses paths by another policy
	Readdress                    // a host uses fewer ports, and then all of them again
	numDrawn                     // the kinds above are drawn
)

// With Filter, which only kindFiltered uses, no cable carries handshake packets.
const (
	Filter = numDrawn
	// HandOver replaces some of the drawn Stop faults: a host's program ends, and another program
	// inherits its sockets. Packets that arrive between the two programs wait in the sockets.
	HandOver      = Filter + 1
	NumFaultKinds = HandOver + 1
)

var faultNames = [NumFaultKinds]string{
	"one way down", "cable down", "spine down", "blackout", "flap", "MTU shrinks", "ECMP rehash", "NAT rebind", "pause", "restart", "crash loop", "clock step", "detour", "brownout", "stop",
	"policy", "fewer ports", "filter", "handover",
}

// String returns the name of the fault kind.
func (k FaultKind) String() string { return faultNames[k] }

// Fault describes one fault and its end.
type Fault struct {
	Kind  FaultKind
	At    time.Duration // since the start
	For   time.Duration
	Host  int // host of the cable, leaf, translator or program
	Spine int // the cable's other end
	Value int // see below

	// For OneWayDown and Brownout, Value is a direction: 0 outwards, 1 back. For Flap and
	// CrashLoop, Value is the period in ms. For ShrinkMTU, the absolute Value is the MTU in bytes,
	// and a negative Value selects the inward direction. For Rebind, a Value of 1 means a move to
	// another address. For Restart and ClockStep, Value is the error of the wall clock in ms. For
	// Detour, Value is the additional delay in us. For Policy, Value is the number of the path
	// policy. For Readdress, one port in Value remains, or none if Value is 0.
}

// String formats the fault as one line.
func (f Fault) String() string {
	return fmt.Sprintf("%s at %v for %v, host %d spine %d value %d", f.Kind, f.At, f.For, f.Host, f.Spine, f.Value)
}

// Schedule lists the faults of a run.
type Schedule []Fault

// Install schedules all faults in a network.
func (s Schedule) Install(f *Fabric) {
	for _, x := range s {
		f.Engine.At(net.Start.Add(x.At), func() {
			f.Engine.Say("FAULT %v", x)
			f.inflict(x)
		})
	}
}

// inflict starts a fault and schedules its end.
func (f *Fabric) inflict(x Fault) {
	h, cable := f.Hosts[x.Host], f.Cables[x.Host][x.Spine]
	end := func(undo func()) { f.Engine.After(x.For, undo) }
	switch x.Kind {
	case OneWayDown:
		f.fail([]*net.Link{[]*net.Link{cable.Out, cable.Back}[x.Value]}, x.For)
	case BothWayDown:
		f.fail([]*net.Link{cable.Out, cable.Back}, x.For)
	case SpineDown:
		for i := range f.Cables {
			f.fail([]*net.Link{f.Cables[i][x.Spine].Out, f.Cables[i][x.Spine].Back}, x.For)
		}
	case Blackout:
		f.fail(f.Links(), x.For)
	case Filter:
		for _, l := range f.Links() {
			l.Filters = true
			end(func() { l.Filters = false })
		}
	case Flap:
		f.flap(cable, time.Duration(x.Value)*time.Millisecond, f.Engine.Now().Add(x.For).Sub(net.Start))
	case ShrinkMTU:
		l, size := cable.Out, x.Value
		if size < 0 {
			l, size = cable.Back, -size
		}
		was := l.MTU
		l.MTU = size
		end(func() { l.MTU = was })
	case Rehash:
		f.Leaves[x.Host].Seed++
	case Rebind:
		if n := f.NATs[x.Host]; n != nil {
			n.Rebind(x.Value == 1)
		}
	case Pause:
		h.Pause()
		end(h.Resume)
	case Restart:
		h.Skew += time.Duration(x.Value) * time.Millisecond
		h.Kill()
		end(h.Revive)
	case Stop:
		h.Stop()
		end(h.Revive)
	case HandOver:
		h.HandOver()
		end(h.Revive)
	case CrashLoop:
		f.crash(h, time.Duration(x.Value)*time.Millisecond, f.Engine.Since()+x.For)
	case ClockStep:
		h.Skew += time.Duration(x.Value) * time.Millisecond
	case Detour:
		more := time.Duration(x.Value) * time.Microsecond
		cable.Out.Delay += more
		cable.Back.Delay += more
		end(func() { cable.Out.Delay, cable.Back.Delay = cable.Out.Delay-more, cable.Back.Delay-more })
	case Policy:
		h.SteerBy(steer.Names()[x.Value])
	case Readdress:
		h.Readdress(func(t srd.Tuple) bool { return x.Value > 0 && int(t.Sock)%x.Value == 0 })
		end(func() { h.Readdress(func(srd.Tuple) bool { return true }) })
	case Brownout:
		l := []*net.Link{cable.Out, cable.Back}[x.Value]
		was := l.Rate
		l.Rate /= brownout
		end(func() { l.Rate = was })
	}
}

// brownout is the factor by which a link becomes slower.
const brownout = 4

// crash kills a host's program in every period, and restarts it half a period later.
func (f *Fabric) crash(h *host.Host, period, until time.Duration) {
	if h.Kill(); f.Engine.Since()+period >= until {
		h.Revive()
		return
	}
	f.Engine.After(period/2, h.Revive)
	f.Engine.After(period, func() { f.crash(h, period, until) })
}

// fail takes links down for the time d.
func (f *Fabric) fail(links []*net.Link, d time.Duration) {
	for _, l := range links {
		l.Fail()
		f.Engine.After(d, l.Restore)
	}
}

// flap takes a cable down for half of each period.
func (f *Fabric) flap(c *net.Cable, period, until time.Duration) {
	if f.Engine.Since()+period >= until {
		return
	}
	f.fail([]*net.Link{c.Out, c.Back}, period/2)
	f.Engine.After(period, func() { f.flap(c, period, until) })
}
