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
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/budget"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/handover"
	"github.com/srdtun/srdtun/overlay/hooks"
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
	// Load reads the file again; nil: it cannot be.
	Load func() (*config.Config, error)
	// Again asks for that, and Reloaded is called when it is done; nil: nobody asks.
	Again    <-chan os.Signal
	Reloaded func(err error)
	// Confine gives up the privileges that were needed to set up; nil: none.
	Confine func() error
	// Hooks runs Commands with rights that Confine gives up; nil: this process runs them.
	Hooks *hooks.Runner
	// Before is what an earlier process has passed on; nil: nothing. Run owns it.
	Before *handover.Bundle
	// Store takes it for a process that follows this one; nil: none does.
	Store Store
	// Clock is the host's, which times of peers are of; nil: time.Now.
	Clock func() time.Time
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
	start time.Time
	stop  context.CancelFunc
	load  func() (*config.Config, error) // nil: the file cannot be read again

	id      *handshake.Identity
	dev     *tundev.Device
	net     *netconf.State
	bank    *udp.Bank
	loop    *loop.Loop
	mark    atomic.Uint32 // of the outer packets
	now     atomic.Pointer[setup]
	devices devices
	links   uplinks
	host    host // follow's own
	drops   readDrops
	told    unreachables
	alive   liveness
	flows   flowCounter

	mergers sync.Pool // of *merge.Merger
	budget  *budget.Budget
	tidy    collector // live's own

	changing         sync.Mutex       // held while now is changed
	file             *config.Config   // as the files were read last; changing
	ended            bool             // no change any more; changing
	files            config.DropIns   // what was read of them; changing
	faults           []string         // of drop-in files, as last told; changing
	unread           string           // why their directory could not be read, as last told; changing
	unsaved, pending []string         // see compare; changing
	lapsed           lapses           // peers whose time is over; changing
	timed            chan struct{}    // tells expire of a change
	wall             func() time.Time // the host's clock
	stirred          chan struct{}    // tells follow of a change
	ruled            chan struct{}    // tells follow that policy rules may be others

	machine *machine // nil: the kernel does not tell
	monitor monitor

	hooks *hooks.Runner // nil: there is none

	before  *handover.Bundle // nil: everything is made anew
	former  *former          // whose sessions go on; nil: nobody's
	kept    bool             // another process has device and sockets now
	pausing atomic.Bool      // the device is not read any more: another process will

	dns      string       // the program that has set the host's resolvers; "": none has
	places   places       // live's own, after the start
	down     atomic.Bool  // the end is for good: nothing is left for a next process
	again    atomic.Int64 // when another process was said to follow, ns since start; 0: never
	story    *story
	verbose  bool
	seen     observer    // live's own
	holding  conditions  // follow's own
	ways     int         // of the remote address whose way is looked at next; follow's own
	hostNews atomic.Bool // the host's addresses changed: live looks at all paths
}

// Run sets everything up, calls Ready, serves until ctx ends or `down` is asked
// for, and tears everything down again. When setting up fails, nothing is left.
func Run(asked context.Context, o Options) error {
	return newServer(o.Config, newStory(o.Verbose)).run(asked, o)
}

func (s *server) run(asked context.Context, o Options) (err error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(asked))
	defer cancel()
	s.stop, s.load, s.before, s.verbose, s.hooks = cancel, o.Load, o.Before, o.Verbose, o.Hooks
	if o.Clock != nil {
		s.wall = o.Clock
	}
	defer s.story.write(o.Log)()
	defer s.closeBefore()
	name := o.Config.Interface.Name
	ctl, err := control.Listen(name, masters(o.Config.File)...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ctl.Close()) }()
	if err := ctl.Closed(); err != nil {
		s.tell(events.HostSetting, "group", "only root can use the control socket: %v", err)
	}
	if err := s.readPeers(); err != nil {
		return err
	}
	s.loadPlaces()
	if s.before != nil {
		s.adopt()
	}
	adopted := s.net != nil
	if !adopted {
		if err := netconf.Recover(name); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, s.downHooks(context.WithoutCancel(asked))) }()
	if !adopted { // else the process before has run them
		if err := s.runHooks(asked, "pre_up", o.Config.Interface.Hooks.PreUp); err != nil {
			return err
		}
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
	ended := s.serve(ctx, cancel, ctl, o)
	var failed error
	if !adopted {
		failed = s.begin(asked)
	}
	if failed == nil {
		s.tell(events.Started, "", "%s is up: port %d, source ports: %d, peers: %d", name, s.bank.Socket(0).Port, s.bank.Len(), len(s.peers()))
		s.tellDoubts(s.cfg(), nil)
		if o.Ready != nil {
			o.Ready()
		}
		s.kept = s.wait(ctx, asked, o.Store)
	}
	if !s.kept {
		failed = errors.Join(failed, s.finish(context.WithoutCancel(ctx)))
	}
	s.tell(events.Stopping, "", "%s is taken down", name)
	cancel()
	for _, p := range s.end() {
		s.loop.Remove(p.link)
	}
	err = errors.Join(failed, s.close(), ended())
	// Only now does nobody send any more.
	s.bank.Close()
	if s.down.Load() {
		err = errors.Join(err, handover.RemovePlaces(name))
	}
	return err
}

// serve starts all that goes on beside each other until ctx ends. ended waits for the end
// of it.
func (s *server) serve(ctx context.Context, cancel func(), ctl *control.Server, o Options) (ended func() error) {
	all := []func() error{
		func() error { return ctl.Serve(ctx, s) },
		func() error { defer cancel(); return s.loop.Run(ctx) },
		func() error { s.follow(ctx); return nil },
		func() error { s.live(ctx); return nil },
		func() error { s.machine.watch(ctx, s.reincarnate); return nil },
		func() error { s.reread(ctx, o.Again, o.Reloaded); return nil },
		func() error { s.watchPeers(ctx); return nil },
		func() error { s.expire(ctx); return nil },
		func() error { s.guard(ctx); return nil },
		func() error { s.watchRules(ctx); return nil },
		func() error { s.serveMonitor(ctx); return nil },
	}
	served := make(chan error, len(all))
	for _, f := range all {
		go func() { served <- f() }()
	}
	return func() (err error) {
		for range all {
			if e := <-served; e != nil && !errors.Is(e, context.Canceled) {
				err = errors.Join(err, e)
			}
		}
		return err
	}
}

// open sets up device, addresses, sockets and peers.
func (s *server) open() (err error) {
	c := s.cfg()
	if s.id, err = handshake.NewIdentity(c.Interface.PrivateKey.Bytes()); err != nil {
		return err
	}
	if s.net == nil { // else all that was adopted
		if err := s.openDevice(); err != nil {
			return err
		}
	}
	s.told.dev = s.dev
	s.mark.Store(s.net.FwMark)
	// The tunnel's own addresses are there by now.
	if err := s.openMonitor(); err != nil {
		return err
	}
	if s.bank == nil {
		if err := s.openSockets(); err != nil {
			return err
		}
	}
	if !s.bank.GRO() {
		s.tell(events.Fallback, "gro", "the kernel does not merge what is received (UDP_GRO), which is slower")
	}
	s.inherit()
	s.loop, err = loop.New(loop.Config{
		Former:   s.former.loop(),
		Bank:     s.bank,
		Endpoint: srd.NewEndpoint(s.id, rand.Reader),
		Workers:  s.dev.Queues(),
		Inputs:   s.inputs(),
		Inner:    s.devices.inner,
		Alive:    s.alive.note,
	})
	if err != nil {
		return err
	}
	s.devices.tunnel = c.Interface.Name
	if s.machine != nil {
		// That of the process before.
	} else if s.machine, err = newMachineEvents(); err != nil {
		s.tell(events.Fallback, "clone", "a restored copy of this machine would not be noticed: %v", err)
	}
	s.devices.load()
	s.host.look(s.devices.all())
	return s.addPeers()
}

// openDevice makes the device and gives it what is configured.
func (s *server) openDevice() (err error) {
	c := s.cfg()
	if _, err := net.InterfaceByName(c.Interface.Name); err == nil {
		// Somebody else's, even if the kernel would let us attach to it.
		return fmt.Errorf("interface %s: there is a device of that name already", c.Interface.Name)
	}
	s.dev, err = tundev.Open(c.Interface.Name, c.Interface.MTU, s.deviceOptions())
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
	return nil
}

func (s *server) deviceOptions() tundev.Options {
	return tundev.Options{
		FlowKey:      packet.FlowKey{random64(), random64()},
		UnorderedUDP: s.cfg().Order.UDP == "unordered",
		Queues:       workers(s.cfg().Interface.Workers),
	}
}

// openSockets binds the ports.
func (s *server) openSockets() (err error) {
	c := s.cfg()
	s.bank, err = udp.Open(s.socketConfig())
	var few *udp.RangeError
	var port *udp.PortError
	switch {
	case errors.As(err, &few):
		return c.Fault("paths", "port_range", "other processes have the ports (%v)", err)
	case errors.Is(err, unix.EADDRINUSE):
		return c.Fault("interface", "listen_port", "another process has the port (%v)", err)
	case errors.As(err, &port) && port.Port == c.Interface.ListenPort && port.Port != 0:
		return c.Fault("interface", "listen_port", "%w", err)
	case errors.As(err, &port) && port.Port != 0:
		return c.Fault("paths", "port_range", "%w", err)
	case err != nil:
		return err
	}
	s.tellIPv6()
	return nil
}

func (s *server) socketConfig() udp.Config {
	c := s.cfg()
	return udp.Config{ListenPort: c.Interface.ListenPort, Ports: c.Paths.SourcePorts, Range: c.Paths.PortRange, Mark: s.net.FwMark}
}

func (s *server) configure() (*netconf.State, error) {
	file, err := netconf.StatePath(s.cfg().Interface.Name)
	if err != nil {
		return nil, err
	}
	return netconf.Apply(s.plan(s.cfg(), file))
}

// plan is what the network is to be for c; file is where the state of it is kept.
func (s *server) plan(c *config.Config, file string) netconf.Plan {
	link := c.Interface.Name
	if s.dev != nil {
		link = s.dev.Name() // somebody may have given it another one
	}
	return netconf.Plan{
		Link:      link,
		MTU:       c.Interface.MTU,
		Addresses: c.Interface.Address,
		Routes:    allowedIPs(c),
		Table:     netconf.Table{Off: c.Interface.Table.Off, ID: c.Interface.Table.ID},
		FwMark:    c.Interface.FwMark,
		StateFile: file,
	}
}

// close undoes open, as far as it went. What another process has now is left as it is.
func (s *server) close() error {
	var errs []error
	if s.net != nil && !s.kept {
		errs = append(errs, s.net.Revert())
	}
	if s.dev != nil {
		errs = append(errs, s.dev.Close())
	}
	if s.machine != nil {
		s.machine.events.Close() // again, if it was watched
	}
	s.monitor.close()
	return errors.Join(errs...)
}

// Down implements control.Handler.
func (s *server) Down() {
	s.down.Store(true)
	s.stop()
}

// masters are the users beside root who may do everything: the owner of the file, if this
// is his process. He can change the file, and so what runs, anyway. A service is not his who
// owns its file, and its user cannot even see it.
func masters(file string) []uint32 {
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil || st.Uid == 0 || int(st.Uid) != os.Geteuid() {
		return nil
	}
	return []uint32{st.Uid}
}

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
