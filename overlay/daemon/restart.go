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

// restart passes device, sockets and peers' addresses on to the next process, and takes them
// over from the one before.
type restart struct {
	log      *eventLog
	running  *runningConfig
	device   *device
	sockets  *sockets
	ingress  *ingress
	sessions *sessions
	start    time.Time

	inherited   *handover.Bundle  // nil: everything is made anew
	clones      *vmgenid.Notifier // nil: the kernel does not tell
	handedOver  bool              // another process has device and sockets now
	final       atomic.Bool       // the end is for good: nothing is left for a next process
	announcedAt atomic.Int64      // when another process was said to follow, ns since start; 0: never
	lastKnown   lastKnown         // the observer's own, after the start
}

// A restart passes the device and the sockets to the next process (package handover).
//
//	this process                                the next
//	stop reading the device, send what is here
//	stop reading the sockets
//	end the sessions, receive what
//	  peers have sent until then
//	give device, sockets, addresses away        take them, greet the peers
//
// What applications write meanwhile waits in the device, and at the peers in their queues:
// they know that there is no session. So a restart loses nothing but time.

// Store keeps what a process passes on.
type Store interface {
	// Expected reports whether another process will follow this one at once.
	Expected() bool
	// Give keeps the descriptors, also when this process has ended.
	Give(*handover.Bundle) error
}

const (
	// drainMost is how long what was read from the device may take to be sent and
	// acknowledged. It is a part of what applications wait for a restart; what is left
	// TCP repairs.
	drainMost = 60 * time.Millisecond
	// drainLook is how often that is looked at.
	drainLook = time.Millisecond
	// lingerMost bounds, and lingerLeast is added to, the round trip in which peers learn
	// that the session ends, and what they sent before is here.
	lingerMost  = 50 * time.Millisecond
	lingerLeast = 2 * time.Millisecond
)

// await returns when the process is to end, and reports whether another has been given
// what it holds of the kernel's.
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

// announcedFor is how long word of another process counts. It comes just before the signal
// to end, which a cancelled job may hold back.
const announcedFor = 20 * time.Second

// announce takes note that another process will follow.
func (rs *restart) announce() { rs.announcedAt.Store(int64(time.Since(rs.start))) }

// announced reports whether root has just said that another process will follow.
func (rs *restart) announced() bool {
	at := time.Duration(rs.announcedAt.Load())
	return at != 0 && time.Since(rs.start)-at < announcedFor
}

// drain waits until all that was read from the device has been delivered, for a while.
func (rs *restart) drain(ctx context.Context) {
	until := time.Now().Add(drainMost)
	for rs.waiting() && time.Now().Before(until) && ctx.Err() == nil {
		time.Sleep(drainLook)
	}
}

// waiting reports whether a peer that can be reached has not got all that was sent to it.
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

// leave ends all sessions, and stays until what the peers sent before has come.
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
	select {
	case <-ctx.Done():
	case <-time.After(linger):
	}
}

// bundle returns what the next process gets. Its descriptors of the device are
// duplicates, those of the sockets are the bank's.
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

// digest is a digest of all that device, addresses, routes and sockets are made from, and
// of the commands that were run for them. A process with another one makes its own.
func (rs *restart) digest() (string, error) {
	c := rs.running.cfg()
	// The name of the state file is no part of what there is: an upgrade has moved it.
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

// adopt takes over device, addresses, routes and sockets from the process before. If
// that cannot be, all of them are closed, which also removes the device.
func (rs *restart) adopt() {
	if err := rs.takeOver(); err != nil {
		rs.log.tell(events.Fallback, "handover", "device and sockets are made anew: %v", err)
		err = rs.dropAdopted()
		if err != nil {
			rs.log.tell(events.Fallback, "handover", "closing those of the process before: %v", err)
		}
	}
}

var errOtherSetup = errors.New("the configuration asks for other ones than the process before had")

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

// dropAdopted closes what takeOver had taken before it failed.
func (rs *restart) dropAdopted() (err error) {
	if rs.device.tun != nil {
		err = rs.device.tun.Close()
	}
	rs.inherited.Close()
	rs.device.tun, rs.device.net, rs.sockets.bank = nil, nil, nil
	return err
}

// Discard closes what a process was given that cannot run, and removes the routes and
// rules of interface name that no device takes along.
func Discard(name string, b *handover.Bundle) error {
	if b == nil {
		return nil
	}
	b.Close()
	return netconf.Recover(name)
}

// discard closes what was passed on and not taken.
func (rs *restart) discard() {
	if rs.inherited != nil {
		rs.inherited.Close()
	}
}

// lastAddresses returns where a peer was proven to be in the process before: as that has passed
// on, or else as the last one wrote down.
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

// provenMost is how many addresses of a peer are taken over: as many as a connection
// tells.
const provenMost = 16
