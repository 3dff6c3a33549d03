// Package daemon is one srdtun process: the TUN device, the sockets, the peers
// and the control socket, put together from a validated configuration.
//
// Outbound, on the TUN reader's own thread (read.go):
//
//  1. read all frames there are (super-frames of up to 62 KB)
//  2. destination address -> allowed IPs -> peer
//  3. peer's lock: into its FQ-CoDel queue
//  4. Kick: queue -> cut into messages -> packets -> sealed train -> one sendmsg
//
// Inbound, on the loop's workers (peer.go): message -> frame put together ->
// order of its flow restored -> source address checked -> one write.
package daemon

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/netconf"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/overlay/route"
	"github.com/srdtun/srdtun/overlay/tundev"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/loop"
	"github.com/srdtun/srdtun/srd/udp"
)

// Options is what Run needs.
type Options struct {
	Config  *config.Config
	Log     func(events.Event) // is given what happens, one after the other
	Verbose bool               // also what is of use only when looking for faults in here
	Ready   func()             // called once traffic can flow
	// Confine gives up the privileges that were needed to set up; nil: none.
	Confine func() error
}

// maxWorkers bounds the threads unless configured: past a few, the device is the
// limit.
const maxWorkers = 4

// workers returns how many threads carry packets if the file does not say: half as
// many as there are processors for this process, since the kernel's share of the work is
// as large as ours.
func workers(asked int) int {
	if asked > 0 {
		return asked
	}
	return max(1, min(maxWorkers, runtime.GOMAXPROCS(0)/2))
}

// server is a running process.
type server struct {
	cfg   *config.Config
	start time.Time
	stop  context.CancelFunc

	id    *handshake.Identity
	dev   *tundev.Device
	net   *netconf.State
	bank  *udp.Bank
	loop  *loop.Loop
	table *route.Table
	peers []*peer
	mtus  mtuTable
	links uplinks
	host  host // follow's own
	drops readDrops
	alive liveness

	machine *machine // nil: the kernel does not tell

	story    *story
	verbose  bool
	seen     observer    // live's own
	holding  conditions  // follow's own
	ways     int         // of the remote address whose way is looked at next; follow's own
	hostNews atomic.Bool // the host's addresses changed: live looks at all paths
}

// Run sets everything up, calls Ready, serves until ctx ends or `down` is asked
// for, and tears everything down again. When setting up fails, nothing is left.
func Run(ctx context.Context, o Options) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{cfg: o.Config, story: newStory(o.Verbose), verbose: o.Verbose, start: time.Now(), stop: cancel}
	defer s.story.write(o.Log)()
	name := o.Config.Interface.Name
	ctl, err := control.Listen(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ctl.Close()) }()
	if err := netconf.Recover(name); err != nil {
		return err
	}
	if err := s.open(); err != nil {
		if s.bank != nil {
			s.bank.Close()
		}
		return errors.Join(err, s.close())
	}
	if o.Confine != nil {
		if err := o.Confine(); err != nil {
			s.tell(events.PrivilegesKept, "", "privileges are kept: %v", err)
		}
	}
	served := make(chan error, 6)
	go func() { served <- ctl.Serve(ctx, s) }()
	go func() { served <- s.loop.Run(ctx); cancel() }()
	go func() { s.follow(ctx); served <- nil }()
	go func() { s.live(ctx); served <- nil }()
	go func() { s.guard(ctx); served <- nil }()
	go func() { s.machine.watch(ctx, s.reincarnate); served <- nil }()
	s.tell(events.Started, "", "%s is up: port %d, source ports: %d, peers: %d", name, s.bank.Socket(0).Port, s.bank.Len(), len(s.peers))
	if o.Ready != nil {
		o.Ready()
	}
	<-ctx.Done()
	s.tell(events.Stopping, "", "%s is taken down", name)
	for _, p := range s.peers {
		s.loop.Remove(p.link)
	}
	err = s.close()
	for range cap(served) {
		if e := <-served; e != nil && !errors.Is(e, context.Canceled) {
			err = errors.Join(err, e)
		}
	}
	// Only now does nobody send any more.
	s.bank.Close()
	return err
}

// open sets up device, addresses, sockets and peers.
func (s *server) open() (err error) {
	c := s.cfg
	if s.id, err = handshake.NewIdentity(c.Interface.PrivateKey.Bytes()); err != nil {
		return err
	}
	if s.table, err = routes(c); err != nil {
		return err
	}
	if _, err := net.InterfaceByName(c.Interface.Name); err == nil {
		// Somebody else's, even if the kernel would let us attach to it.
		return fmt.Errorf("interface %s: there is a device of that name already", c.Interface.Name)
	}
	s.dev, err = tundev.Open(c.Interface.Name, c.Interface.MTU, tundev.Options{
		FlowKey:      packet.FlowKey{random64(), random64()},
		UnorderedUDP: c.Order.UDP == "unordered",
		Queues:       workers(c.Interface.Workers),
	})
	if err != nil {
		return err
	}
	for _, p := range s.dev.Offloads().Problems {
		s.tell(events.Fallback, p, "%s: without %s", c.Interface.Name, p)
	}
	if s.net, err = s.configure(); err != nil {
		return err
	}
	for _, w := range s.net.Warnings {
		s.tell(events.HostSetting, w, "%s", w)
	}
	s.bank, err = udp.Open(udp.Config{
		ListenPort: c.Interface.ListenPort, Ports: c.Paths.SourcePorts, Range: c.Paths.PortRange, Mark: s.net.FwMark,
	})
	var few *udp.RangeError
	switch {
	case errors.As(err, &few):
		return c.Fault("paths", "port_range", "other processes have the ports (%v)", err)
	case errors.Is(err, unix.EADDRINUSE):
		return c.Fault("interface", "listen_port", "another process has the port (%v)", err)
	case err != nil:
		return err
	}
	if !s.bank.GRO() {
		s.tell(events.Fallback, "gro", "the kernel does not merge what is received (UDP_GRO), which is slower")
	}
	s.loop, err = loop.New(loop.Config{
		Bank:     s.bank,
		Endpoint: srd.NewEndpoint(s.id, rand.Reader),
		Workers:  s.dev.Queues(),
		Inputs:   s.inputs(),
		Inner:    s.mtus.inner,
		Alive:    s.alive.note,
	})
	if err != nil {
		return err
	}
	s.mtus.tunnel = c.Interface.Name
	if s.machine, err = newMachineEvents(); err != nil {
		s.tell(events.Fallback, "clone", "a restored copy of this machine would not be noticed: %v", err)
	}
	s.mtus.load()
	s.host.look(s.mtus.all())
	return s.addPeers()
}

func (s *server) configure() (*netconf.State, error) {
	c := s.cfg
	file, err := netconf.StatePath(c.Interface.Name)
	if err != nil {
		return nil, err
	}
	return netconf.Apply(netconf.Plan{
		Link:      s.dev.Name(),
		MTU:       c.Interface.MTU,
		Addresses: c.Interface.Address,
		Routes:    allowedIPs(c),
		Table:     netconf.Table{Off: c.Interface.Table.Off, ID: c.Interface.Table.ID},
		FwMark:    c.Interface.FwMark,
		StateFile: file,
	})
}

// close undoes open, as far as it went.
func (s *server) close() error {
	var errs []error
	if s.net != nil {
		errs = append(errs, s.net.Revert())
	}
	if s.dev != nil {
		errs = append(errs, s.dev.Close())
	}
	if s.machine != nil {
		s.machine.events.Close() // again, if it was watched
	}
	return errors.Join(errs...)
}

// Down implements control.Handler.
func (s *server) Down() { s.stop() }

// routes builds the allowed-IP table of c.
func routes(c *config.Config) (*route.Table, error) {
	t := new(route.Table)
	for i := range c.Peers {
		for _, a := range c.Peers[i].AllowedIPs {
			if err := t.Insert(a, i); err != nil {
				return nil, fmt.Errorf("%s: %w", c.File, err)
			}
		}
	}
	return t, nil
}

// ciphers returns what the configuration lets us offer.
func ciphers(name string) handshake.Offers {
	if c, ok := handshake.ParseCipher(name); ok {
		return handshake.OffersOf(c)
	}
	return handshake.Hardware()
}

func random64() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	return binary.NativeEndian.Uint64(b[:])
}
