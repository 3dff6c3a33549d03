// Package daemon runs one srdtun interface. From a validated configuration, it creates the TUN
// device, the sockets, the peers and the control socket.
//
// The outbound path is in ingress.go, and a worker runs it for its queue of the device:
//
//  1. Read up to 128 frames (super-frames of up to 62 KB).
//  2. Destination address -> allowed IPs -> peer.
//  3. Peer's lock: into its FQ-CoDel queue.
//  4. Queue -> cut into messages -> packets -> sealed train -> one sendmsg.
//
// The inbound path is in peer.go and delivery.go, and any worker runs it. Messages are
// reassembled to a frame, the flow's order is restored, the source address is checked, and the
// frame is written.
package daemon

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/daemon/internal/memory"
	"github.com/srdtun/srdtun/overlay/daemon/internal/vmgenid"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/handover"
	"github.com/srdtun/srdtun/overlay/hooks"
	"github.com/srdtun/srdtun/overlay/netconf"
	"github.com/srdtun/srdtun/overlay/route"
	"github.com/srdtun/srdtun/overlay/web"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/loop"
	"github.com/srdtun/srdtun/srd/mono"
)

// server is the state of a running daemon. Each field of server is a part of the daemon with its
// own state and methods. A part uses only parts that are declared above it in this struct.
type server struct {
	start time.Time
	stop  context.CancelFunc

	log       *eventLog      // events
	running   *runningConfig // the configuration in force, and the peers
	memory    *memory.Shared // shared by all peers
	device    *device        // the TUN device, its addresses and routes
	sockets   *sockets       // UDP sockets of all peers
	uplinks   *uplinks       // this host's interfaces and addresses
	ingress   *ingress       // packets from the device to peers
	sessions  *sessions      // connections to peers
	endpoints *endpoints     // addresses of peers, and the paths to them
	settings  *settings      // changes of the configuration
	restart   *restart       // handover to the next process
	observer  *observer      // reports changes, about once a second
	programs  *programs      // commands of the configuration
	status    *status        // visible state, for the control socket
	monitor   *monitor       // the status over HTTP
	downs     downs          // clients that wait for the end
}

// Options are the arguments of Run.
type Options struct {
	Config  *config.Config
	Log     func(events.Event) // called with each event, one at a time
	Verbose bool               // log debug events, too
	Ready   func()             // called once traffic can flow
	// Warned is called with the warnings of the start, before Ready. If Warned is nil, the warnings
	// are only logged.
	Warned func(warnings []string)
	// Load reads the configuration file again, or is nil if that is impossible.
	Load func() (*config.Config, error)
	// A signal on the channel Again requests a reload, and the function Reloaded receives the
	// result. Again and Reloaded may be nil.
	Again    <-chan os.Signal
	Reloaded func(err error)
	// Confine gives up the privileges that only the setup needs. If Confine is nil, the daemon
	// keeps its privileges.
	Confine func() error
	// Confined calls a function that reads files, with the rights that Confine leaves. If Confined is
	// nil, the function is called with all rights.
	Confined func(read func()) error
	// Hooks runs Commands with privileges that Confine gives up. If Hooks is nil, this process runs
	// the commands.
	Hooks *hooks.Runner
	// Before holds the descriptors and addresses of an earlier process, or nil. Run takes ownership
	// of the descriptors.
	Before *handover.Bundle
	// Store keeps the descriptors for the next process, or is nil.
	Store Store
	// Clock returns the host's time, for the expiry times of peers. If Clock is nil, time.Now is
	// used.
	Clock func() time.Time
}

// maxWorkers bounds the default number of threads, because with more than a few threads the device
// is the bottleneck.
const maxWorkers = 4

// workers returns the number of threads that carry packets. The default is half of the available
// processors, because the kernel's share of the work is as large as the daemon's.
func workers(asked int) int {
	if asked > 0 {
		return asked
	}
	return max(1, min(maxWorkers, runtime.GOMAXPROCS(0)/2))
}

// Run sets the interface up, calls Ready, and serves until asked ends or `down` is requested.
// When asked ends or `down` is requested, Run takes the interface down. If the setup fails, Run
// removes everything created so far.
func Run(asked context.Context, o Options) error {
	memory.Limit()
	return newServer(o.Config, newEventLog(o.Verbose)).run(asked, o)
}

func (s *server) run(asked context.Context, o Options) (err error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(asked))
	defer cancel()
	s.stop, s.settings.load, s.restart.inherited, s.sessions.verbose, s.programs.runner = cancel, o.Load, o.Before, o.Verbose, o.Hooks
	if o.Clock != nil {
		s.settings.clock = o.Clock
	}
	defer s.log.write(o.Log)()
	defer s.restart.discard()
	name := o.Config.Interface.Name
	ctl, err := control.Listen(name, masters(o.Config.File)...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ctl.Close()) }()
	defer func() { s.downs.tell(err) }()
	ctl.OnGone(func(uid uint32) { s.monitor.gaveWay("control socket")(web.UserOwner(uid)) })
	if err := ctl.Closed(); err != nil {
		s.log.tell(events.HostSetting, "group", "only root can use the control socket: %v", err)
	}
	if err := s.settings.readDropIns(o.Confined); err != nil {
		return err
	}
	s.restart.loadLastKnown()
	if s.restart.inherited != nil {
		s.restart.adopt()
	}
	adopted := s.device.net != nil
	if !adopted {
		// Before this process changes anything: a device may belong to a daemon whose lock is gone.
		if err := s.device.absent(); err != nil {
			return err
		}
		if err := netconf.Recover(name); err != nil {
			return err
		}
	}
	defer func() {
		if !s.restart.handedOver { // otherwise the next process continues to use the interface
			err = errors.Join(err, s.programs.end(context.WithoutCancel(asked)))
		}
	}()
	if !adopted { // otherwise the previous process has run them
		if err := s.programs.run(asked, "pre_up", o.Config.Interface.Hooks.PreUp); err != nil {
			return err
		}
	}
	if err := s.open(); err != nil {
		if s.sockets.bank != nil {
			s.sockets.bank.Close()
		}
		return errors.Join(err, s.close())
	}
	if o.Confine != nil {
		if err := o.Confine(); err != nil {
			s.log.tell(events.PrivilegesKept, "", "privileges are kept: %v", err)
		}
	}
	ended := s.serve(ctx, cancel, ctl, o)
	var failed error
	if !adopted {
		failed = s.programs.begin(asked)
	}
	if failed == nil {
		s.log.tell(events.Started, "", "%s is up: port %d, source ports: %d, peers: %d", name, s.sockets.bank.Socket(0).Port, s.sockets.bank.Len(), len(s.running.peers()))
		s.settings.tellDoubts(s.running.cfg(), nil)
		// Wait until the routes of outer packets were checked, so that the command that started the
		// daemon can print warnings about them.
		select {
		case <-s.endpoints.placedFirst:
		case <-ctx.Done():
		}
		if o.Warned != nil {
			o.Warned(s.startWarnings())
		}
		if o.Ready != nil {
			o.Ready()
		}
		s.restart.handedOver = s.restart.await(ctx, asked, o.Store)
	}
	if !s.restart.handedOver {
		s.programs.wanted = failed == nil && (asked.Err() != nil || s.restart.final.Load())
		failed = errors.Join(failed, s.programs.finish(context.WithoutCancel(ctx)))
	}
	s.log.tell(events.Stopping, "", "%s is taken down", name)
	cancel()
	s.sockets.freeze()
	for _, p := range s.settings.close() {
		s.sessions.loop.Remove(p.link)
	}
	err = errors.Join(failed, s.close(), ended())
	// All goroutines that send packets have ended.
	s.sockets.bank.Close()
	if s.restart.final.Load() {
		err = errors.Join(err, handover.RemovePeers(name))
	}
	return err
}

// serve starts all goroutines that run until ctx ends. The function ended() waits until all
// started goroutines have returned.
func (s *server) serve(ctx context.Context, cancel func(), ctl *control.Server, o Options) (ended func() error) {
	all := []func() error{
		func() error { return ctl.Serve(ctx, s) },
		func() error { defer cancel(); return s.sessions.loop.Run(ctx) },
		func() error { s.endpoints.follow(ctx); return nil },
		func() error { s.observer.run(ctx); return nil },
		func() error { s.restart.clones.Watch(ctx, s.settings.reincarnate); return nil },
		func() error { s.settings.rereadOn(ctx, o.Again, o.Reloaded); return nil },
		func() error { s.settings.watchDropIns(ctx); return nil },
		func() error { s.settings.expire(ctx); return nil },
		func() error { s.device.guard(ctx); return nil },
		func() error { s.endpoints.watchWays(ctx); return nil },
		func() error { s.monitor.serve(ctx); return nil },
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

func (s *server) open() (err error) {
	c := s.running.cfg()
	if s.sessions.id, err = handshake.NewIdentity(c.Interface.PrivateKey.Bytes()); err != nil {
		return err
	}
	if s.device.net == nil { // otherwise restart has taken it over
		if err := s.device.open(); err != nil {
			return err
		}
	}
	s.ingress.rejects.dev = s.device.tun
	s.sockets.mark.Store(s.device.net.FwMark)
	// The tunnel's own addresses exist at this point.
	if err := s.monitor.open(); err != nil {
		return err
	}
	if s.sockets.bank == nil {
		if err := s.sockets.open(s.device.net.FwMark); err != nil {
			return err
		}
	}
	if !s.sockets.bank.GRO() {
		s.log.tell(events.Fallback, "gro", "the kernel does not merge received packets (UDP_GRO), which is slower")
	}
	s.sessions.loop, err = loop.New(loop.Config{
		Bank:     s.sockets.bank,
		Endpoint: srd.NewEndpoint(s.sessions.id, rand.Reader),
		Workers:  s.device.tun.Queues(),
		Inputs:   s.ingress.inputs(func() mono.Time { return s.sessions.loop.Now() }),
		Inner:    s.uplinks.interfaces.inner,
		Barred:   s.uplinks.listed.bars,
		Leaves:   s.uplinks.leaves,
		Alive:    s.ingress.stalls.note,
	})
	if err != nil {
		return err
	}
	s.uplinks.interfaces.tunnel = c.Interface.Name
	if s.restart.clones, err = vmgenid.Open(); err != nil {
		s.log.tell(events.Fallback, "clone", "a restored copy of this machine would not be noticed: %v", err)
	}
	s.uplinks.interfaces.load()
	s.uplinks.host.look(s.uplinks.interfaces.all())
	return s.addPeers()
}

// close undoes the method open(), even if open() failed half way. Descriptors that the next
// process has received stay open.
func (s *server) close() error {
	var errs []error
	if s.device.net != nil && !s.restart.handedOver {
		errs = append(errs, s.device.net.Revert())
	}
	if s.device.tun != nil {
		errs = append(errs, s.device.tun.Close())
	}
	s.restart.clones.Close()
	s.monitor.close()
	return errors.Join(errs...)
}

// masters returns the users besides root who may make all requests. This is the owner of the
// configuration file, if this process runs as that user, because the owner can change the file in
// any case. A service runs as a user other than the file's owner, who cannot even read the file.
func masters(file string) []uint32 {
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil || st.Uid == 0 || int(st.Uid) != os.Geteuid() {
		return nil
	}
	return []uint32{st.Uid}
}

func random64() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	return binary.NativeEndian.Uint64(b[:])
}

// newServer returns a server that has only its configuration.
func newServer(c *config.Config, log *eventLog) *server {
	s := &server{start: time.Now(), log: log, running: &runningConfig{}, memory: memory.New()}
	s.running.Store(&snapshot{cfg: c, table: new(route.Table)})
	s.device = &device{log: s.log, running: s.running}
	s.device.mergers.New = s.device.newMerger
	s.sockets = &sockets{log: s.log, running: s.running}
	s.uplinks = &uplinks{running: s.running, device: s.device, sockets: s.sockets}
	s.ingress = &ingress{running: s.running, device: s.device}
	s.ingress.rejects.running = s.running
	s.sessions = &sessions{log: s.log, running: s.running, memory: s.memory, device: s.device, uplinks: s.uplinks, ingress: s.ingress}
	s.endpoints = &endpoints{
		log: s.log, running: s.running, device: s.device, sockets: s.sockets, uplinks: s.uplinks, sessions: s.sessions,
		rounds: rounds{wake: make(chan struct{}, 1)}, waysChanged: make(chan struct{}, 1),
		placedFirst: make(chan struct{}),
	}
	s.settings = &settings{
		log: s.log, running: s.running, device: s.device, sockets: s.sockets, sessions: s.sessions, endpoints: s.endpoints,
		file: c, clock: time.Now, expiryChanged: make(chan struct{}, 1),
	}
	s.device.spare = s.settings.spare
	s.restart = &restart{
		log: s.log, running: s.running, device: s.device, sockets: s.sockets, ingress: s.ingress, sessions: s.sessions, start: s.start,
	}
	s.observer = &observer{
		log: s.log, running: s.running, memory: s.memory, uplinks: s.uplinks, ingress: s.ingress, sessions: s.sessions,
		endpoints: s.endpoints, restart: s.restart,
	}
	s.programs = &programs{log: s.log, running: s.running, device: s.device}
	s.status = &status{
		start: s.start, running: s.running, device: s.device, sockets: s.sockets, uplinks: s.uplinks, ingress: s.ingress,
		sessions: s.sessions, endpoints: s.endpoints, settings: s.settings,
	}
	s.monitor = &monitor{log: s.log, running: s.running, status: s.status}
	return s
}

func (s *server) addPeers() error {
	c := s.running.cfg()
	table, err := routes(c)
	if err != nil {
		return err
	}
	next := &snapshot{cfg: c, table: table}
	for i := range c.Peers {
		policy, err := policyOf(c, c.Peers[i].Policy)
		if err != nil {
			return err
		}
		next.peers = append(next.peers, s.sessions.newPeer(c, &c.Peers[i], policy))
	}
	s.running.Store(next)
	s.uplinks.exits()
	for _, p := range next.peers {
		p.remote.callback.proven = s.restart.lastAddresses(p.cfg().PublicKey.String())
		s.endpoints.place(p)
	}
	return nil
}
