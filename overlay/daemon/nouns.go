package daemon

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/budget"

	"github.com/srdtun/srdtun/overlay/handover"
	"github.com/srdtun/srdtun/overlay/hooks"
	"github.com/srdtun/srdtun/overlay/netconf"
	"github.com/srdtun/srdtun/overlay/tundev"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/loop"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/udp"
)

// runningConfig is the configuration in force, with the peers and the routes to them. Readers
// take a snapshot of it.
type runningConfig struct{ atomic.Pointer[snapshot] }

// settings changes the running configuration, as the files and the control socket ask for.
type settings struct {
	log       *eventLog
	running   *runningConfig
	device    *device
	sockets   *sockets
	sessions  *sessions
	endpoints *endpoints
	clock     func() time.Time               // the host's clock
	load      func() (*config.Config, error) // nil: the file cannot be read again

	expiryChanged chan struct{} // tells expire of a change

	mu               sync.Mutex     // held while the running configuration is changed
	file             *config.Config // as the files were read last
	closed           bool           // no change any more
	dropIns          config.DropIns // what was read of them
	faults           []string       // of drop-in files, as last told
	unread           string         // why their directory could not be read, as last told
	unsaved, pending []string       // see compare
	expired          expiredPeers
}

// device is the TUN device, and what the host's network was given for it.
type device struct {
	log     *eventLog
	running *runningConfig
	tun     *tundev.Device
	net     *netconf.State
	mergers sync.Pool // of *merge.Merger
}

// sockets are the UDP sockets that all peers share.
type sockets struct {
	log     *eventLog
	running *runningConfig
	bank    *udp.Bank
	mark    atomic.Uint32 // of the outer packets
	mu      sync.Mutex    // held while the mark changes, or sockets are opened
	closed  bool          // none is opened any more; mu
}

// uplinks knows by which interfaces and from which addresses of this host packets leave.
type uplinks struct {
	running    *runningConfig
	device     *device
	sockets    *sockets
	interfaces interfaces
	classes    classes
	host       addresses // endpoints' own
}

// endpoints keeps the addresses of peers current, and with them the paths that are tried.
type endpoints struct {
	log      *eventLog
	running  *runningConfig
	device   *device
	sockets  *sockets
	uplinks  *uplinks
	sessions *sessions

	peersChanged chan struct{} // tells follow of a change
	rulesChanged chan struct{} // tells follow that policy rules may be others
	hostChanged  atomic.Bool   // the host's addresses changed: the observer looks at all paths

	// follow's own
	conditions  conditions
	nextChecked int // of the remote addresses whose route is looked at next
}

// sessions makes the connections to peers, and ends them.
type sessions struct {
	log     *eventLog
	running *runningConfig
	memory  *memory
	device  *device
	uplinks *uplinks
	ingress *ingress
	id      *handshake.Identity
	loop    *loop.Loop
	verbose bool
}

// restart passes device, sockets and sessions on to the next process, and takes them over from
// the one before.
type restart struct {
	log      *eventLog
	running  *runningConfig
	device   *device
	sockets  *sockets
	ingress  *ingress
	sessions *sessions
	start    time.Time

	inherited   *handover.Bundle // nil: everything is made anew
	previous    *previous        // whose sessions go on; nil: nobody's
	clones      *cloneNotifier   // nil: the kernel does not tell
	handedOver  bool             // another process has device and sockets now
	final       atomic.Bool      // the end is for good: nothing is left for a next process
	announcedAt atomic.Int64     // when another process was said to follow, ns since start; 0: never
	lastKnown   lastKnown        // the observer's own, after the start
}

// ingress takes packets from the device and gives them to peers.
type ingress struct {
	running *runningConfig
	device  *device
	drops   readDrops
	paused  atomic.Bool // the device is not read any more: another process will
	stalls  stallDetector
	flows   flowCounter
	rejects unreachables
}

// memory is what all peers may use together.
type memory struct {
	budget    *budget.Budget
	collector collector // the observer's own
}

// programs runs the commands of the configuration, and those that set the host's resolvers.
type programs struct {
	log      *eventLog
	running  *runningConfig
	device   *device
	runner   *hooks.Runner // nil: there is none
	resolver string        // the program that has set the host's resolvers; "": none has
}

// status is what can be seen of a running process.
type status struct {
	start     time.Time
	running   *runningConfig
	device    *device
	sockets   *sockets
	uplinks   *uplinks
	ingress   *ingress
	sessions  *sessions
	endpoints *endpoints
	settings  *settings
}

// observer looks at everything about once a second and tells what changed. Nothing on the
// path of packets knows of it.
type observer struct {
	log       *eventLog
	running   *runningConfig
	memory    *memory
	uplinks   *uplinks
	ingress   *ingress
	sessions  *sessions
	endpoints *endpoints
	restart   *restart

	uplinkWatch uplinkWatch
	refusals    refusalWatch
	names       map[srd.Uplink]string // interfaces of uplinks, which may be gone by now
	fallback    bool                  // it was said that segmentation is missing
	resumed     mono.Time
	latest      mono.Time
}

// monitor shows the status over HTTP, to Prometheus and to a browser, as far as that
// was asked for. Its listeners are opened with everything else, as a port below 1024
// takes a privilege that is given up later.
type monitor struct {
	log                *eventLog
	running            *runningConfig
	status             *status
	metrics, dashboard net.Listener // nil: not asked for
}
