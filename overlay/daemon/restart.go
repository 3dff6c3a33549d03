package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/pause"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/daemon/internal/vmgenid"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/handover"
	"github.com/srdtun/srdtun/overlay/netconf"
	"github.com/srdtun/srdtun/overlay/tundev"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/udp"
)

// restart passes the device, the sockets and the peers' addresses to the next process, or
// receives them from the previous one.
type restart struct {
	log      *eventLog
	running  *runningConfig
	device   *device
	sockets  *sockets
	ingress  *ingress
	sessions *sessions
	start    time.Time

	inherited   *handover.Bundle  // from the previous process; nil: nothing was inherited
	clones      *vmgenid.Notifier // nil: the kernel does not report that the machine is a copy
	handedOver  bool              // the next process has the device and the sockets
	final       atomic.Bool       // no next process is expected, so nothing is left for it
	announcedAt atomic.Int64      // when a next process was announced, in ns since start; 0: never
	lastKnown   lastKnown         // after the start used by the observer only
}

// A restart passes the device and the sockets to the next process (package handover).
//
//	this process                                the next
//	stop reading the device, send all packets
//	stop reading the sockets
//	end the sessions, receive the
//	  last packets of the peers
//	give device, sockets, addresses away        take them, greet the peers
//
// During a restart, applications' packets wait in the device here and in the queues of the peers,
// so no packet is lost. The peers queue packets because each has received a message that its
// session has ended.

// Store keeps the descriptors of a process for its successor.
type Store interface {
	// Expected reports whether the next process will start immediately.
	Expected() bool
	// Give stores the descriptors so that they survive the exit of this process.
	Give(*handover.Bundle) error
}

const (
	// drainMost bounds the time in which the packets read from the device are sent and
	// acknowledged. During this time the device is not read, so applications are blocked. Later,
	// TCP itself retransmits packets that were not acknowledged in time.
	drainMost = 60 * time.Millisecond
	// drainLook is the interval at which the method drain() checks for acknowledgements.
	drainLook = time.Millisecond
	// One round trip after the end of its session was sent, a peer has received it, and the peer's
	// last packets have arrived here. The daemon waits for one round trip plus lingerLeast, at most
	// lingerMost.
	lingerMost  = 50 * time.Millisecond
	lingerLeast = 2 * time.Millisecond
)

// await returns when the process must exit. The method await() reports whether the store has
// kept the device and the sockets for the next process.
func (rs *restart) await(ctx, asked context.Context, store Store) (kept bool) {
	select {
	case <-ctx.Done():
		return false
	case <-asked.Done():
	}
	if store == nil || !rs.announced() && !store.Expected() || ctx.Err() != nil {
		return false
	}
	rs.ingress.paused.Store(true)
	rs.drain(ctx)
	rs.leave(ctx)
	b, err := rs.bundle()
	if err == nil {
		err = store.Give(b)
		for _, fd := range b.TUN {
			unix.Close(fd)
		}
	}
	if err != nil {
		rs.log.tell(events.Fallback, "handover", "the next process will not take over device and sockets: %v", err)
	}
	return err == nil
}

// announcedFor is the time for which the announcement of a next process is valid. The announcement
// arrives just before the signal to exit. It must expire, because if the restart is cancelled, the
// signal never arrives.
const announcedFor = 20 * time.Second

// announce records that another process will start after this one.
func (rs *restart) announce() { rs.announcedAt.Store(int64(time.Since(rs.start))) }

// announced reports whether root has recently announced a next process.
func (rs *restart) announced() bool {
	at := time.Duration(rs.announcedAt.Load())
	return at != 0 && time.Since(rs.start)-at < announcedFor
}

// drain waits for at most drainMost until the peers have acknowledged all packets read from the
// device.
func (rs *restart) drain(ctx context.Context) {
	until := time.Now().Add(drainMost)
	for rs.waiting() && time.Now().Before(until) && ctx.Err() == nil {
		time.Sleep(drainLook)
	}
}

func (rs *restart) waiting() bool {
	for _, p := range rs.running.peers() {
		waits := false
		p.link.Do(func(now mono.Time, c *srd.Conn) {
			waits = c.Session(now).Ready && (p.Backlog() || c.Pending() > 0)
		})
		if waits {
			return true
		}
	}
	return false
}

// leave ends all sessions, and waits for packets that the peers sent before they received the
// end of the session.
func (rs *restart) leave(ctx context.Context) {
	var linger time.Duration
	for _, p := range rs.running.peers() {
		p.link.Do(func(now mono.Time, c *srd.Conn) {
			if c.Session(now).Ready {
				linger = max(linger, min(lingerMost, c.RTT()+lingerLeast))
			}
		})
		rs.sessions.loop.Leave(p.link)
	}
	pause.For(ctx, linger)
}

// bundle returns the descriptors and addresses for the next process. The device's descriptors in
// the bundle are duplicates. The sockets' descriptors in the bundle still belong to this
// process.
func (rs *restart) bundle() (*handover.Bundle, error) {
	setup, err := rs.digest()
	if err != nil {
		return nil, err
	}
	b := &handover.Bundle{State: handover.State{Setup: setup, FwMark: rs.device.net.FwMark}}
	for _, p := range rs.running.peers() {
		p.link.Do(func(_ mono.Time, c *srd.Conn) {
			if proven := c.Proven(); len(proven) > 0 {
				b.State.Peers = append(b.State.Peers, handover.Peer{Key: p.cfg().PublicKey.String(), Addresses: proven})
			}
		})
	}
	b.State.Ports, b.UDP = rs.sockets.bank.Descriptors()
	b.TUN, err = rs.device.tun.Descriptors()
	return b, err
}

// digest returns a hash of the settings of device, addresses, routes, sockets and commands. A next
// process whose settings have another hash creates its own device and sockets.
func (rs *restart) digest() (string, error) {
	c := rs.running.cfg()
	// The hash does not depend on the state file's name, because an upgrade of the program has
	// moved that file.
	plan := rs.device.plan(c, filepath.Join(rundir.Dir(), c.Interface.Name+rundir.State))
	text, err := json.Marshal(struct {
		Plan   netconf.Plan
		Listen uint16
		Ports  int
		Range  [2]uint16
		Queues int
		DNS    []string
		Hooks  config.Hooks
	}{
		plan, c.Interface.ListenPort, c.Paths.SourcePorts, c.Paths.PortRange, workers(c.Interface.Workers),
		c.Interface.DNS, c.Interface.Hooks,
	})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// adopt takes over the device, addresses, routes and sockets of the previous process. If adopt()
// fails, it closes all descriptors, which also removes the device.
func (rs *restart) adopt() {
	if err := rs.takeOver(); err != nil {
		rs.log.tell(events.Fallback, "handover", "device and sockets are created anew: %v", err)
		err = rs.dropAdopted()
		if err != nil {
			rs.log.tell(events.Fallback, "handover", "closing the previous process's device and sockets: %v", err)
		}
	}
}

var errOtherSetup = errors.New("the configuration needs another device or other sockets than the previous process had")

func (rs *restart) takeOver() error {
	b := rs.inherited
	switch setup, err := rs.digest(); {
	case err != nil:
		return err
	case setup != b.State.Setup:
		return errOtherSetup
	}
	file, err := netconf.StatePath(rs.running.cfg().Interface.Name)
	if err != nil {
		return err
	}
	plan := rs.device.plan(rs.running.cfg(), file)
	fds := b.TUN
	b.TUN = nil
	if rs.device.tun, err = tundev.Adopt(fds, plan.Link, plan.MTU, rs.device.options()); err != nil {
		return err
	}
	conf, err := netconf.Adopt(plan, b.State.FwMark)
	if err != nil {
		return fmt.Errorf("network settings: %w", err)
	}
	rs.device.net = conf
	fds = b.UDP
	b.UDP = nil
	rs.sockets.bank, err = udp.Adopt(rs.sockets.config(rs.device.net.FwMark), b.State.Ports, fds)
	return err
}

// dropAdopted closes all descriptors that takeOver received before it failed.
func (rs *restart) dropAdopted() (err error) {
	if rs.device.tun != nil {
		err = rs.device.tun.Close()
	}
	rs.inherited.Close()
	rs.device.tun, rs.device.net, rs.sockets.bank = nil, nil, nil
	return err
}

// Discard closes the stored descriptors when the next process cannot run. Discard also removes
// the interface's routes and rules that would outlive the device.
func Discard(name string, b *handover.Bundle) error {
	if b == nil {
		return nil
	}
	b.Close()
	return netconf.Recover(name)
}

func (rs *restart) discard() {
	if rs.inherited != nil {
		rs.inherited.Close()
	}
}

// lastAddresses returns the peer's validated addresses from the previous process's bundle, or
// else from the saved file.
func (rs *restart) lastAddresses(key string) []netip.AddrPort {
	if rs.inherited == nil {
		return rs.lastKnown.known[key]
	}
	for _, p := range rs.inherited.State.Peers {
		if p.Key == key {
			return p.Addresses[:min(len(p.Addresses), provenMost)]
		}
	}
	return nil
}

// provenMost bounds a peer's addresses in a bundle, as srd.Conn.Proven does.
const provenMost = 16
