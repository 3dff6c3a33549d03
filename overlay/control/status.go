package control

// Version is the version of this program, as `srdtun version` and Status show
// it. It is set at link time (-ldflags "-X ...") or by main before anything
// runs, never later.
var Version = "dev"

// Schema is the number of the layout of Status, Flows and Pings. It grows when a field goes or
// means something else; a new field does not change it.
const Schema = 1

// Status is all that `srdtun show --json` prints of one interface. Units are
// part of the JSON names: _us microseconds, _s seconds, _bytes bytes. Counters
// count from the start of the daemon.
type Status struct {
	Schema     int               `json:"schema"`      // of this layout: grows when a field goes or means something else
	Interface  string            `json:"interface"`   // name of the device
	File       string            `json:"file"`        // its configuration, with the whole path
	PublicKey  string            `json:"public_key"`  // base64, as wg prints it
	ListenPort uint16            `json:"listen_port"` // UDP port that peers call
	MTU        int               `json:"mtu"`         // of the inner interface
	FwMark     uint32            `json:"fwmark"`      // of outer packets; 0: none
	Cipher     string            `json:"cipher"`      // as configured
	UptimeS    int64             `json:"uptime_s"`    // since the daemon's start
	Unsaved    []string          `json:"unsaved"`     // keys that were changed while running and that the file has otherwise
	Pending    []string          `json:"pending"`     // keys that the file has otherwise and that need a restart
	Missing    []string          `json:"missing"`     // entries of paths.local that have no address here
	Version    string            `json:"version"`     // of the daemon that runs
	Peers      []Peer            `json:"peers"`       // in the order of the file
	Drops      map[string]uint64 `json:"drops"`       // device and sockets: reason to count
	Device     Device            `json:"device"`      // the TUN device
	Workers    []Worker          `json:"workers"`     // the threads that carry packets
	Sends      Sends             `json:"sends"`       // what left through the sockets
	Receives   Receives          `json:"receives"`    // how packets come in
}

// Peer is one peer of an interface.
type Peer struct {
	Name                 string   `json:"name"`                    // as configured; "": none
	PublicKey            string   `json:"public_key"`              // base64, as wg prints it
	HasPresharedKey      bool     `json:"has_preshared_key"`       // the key itself is never shown
	Endpoint             string   `json:"endpoint"`                // address:port that can be called: a configured one, or a listening port where the peer has proven to be; "": none is known
	HeardFrom            string   `json:"heard_from"`              // address:port that data last came from, which may be any source port; "": before any
	Endpoints            []string `json:"endpoints"`               // as configured
	AllowedIPs           []string `json:"allowed_ips"`             // as configured
	LatestHandshakeUnixS int64    `json:"latest_handshake_unix_s"` // 0: never
	SilentSinceUnixS     int64    `json:"silent_since_unix_s"`     // nothing that was sent since then has been answered; 0: it has, or was sent less than 5 s ago
	RxBytes              uint64   `json:"rx_bytes"`                // UDP payload, as wg counts
	TxBytes              uint64   `json:"tx_bytes"`                // UDP payload, as wg counts
	PersistentKeepaliveS int      `json:"persistent_keepalive_s"`  // 0: off
	Cipher               string   `json:"cipher"`                  // of the session; "" without one
	Policy               string   `json:"policy"`                  // how packets are spread over the paths

	Paths              []Path            `json:"paths"`                 // to this peer, by slot; candidates last
	CwndBytes          uint64            `json:"cwnd_bytes"`            // congestion window over all paths
	BytesInFlight      uint64            `json:"bytes_in_flight"`       // sent and not acknowledged
	RateBytesPerS      uint64            `json:"rate_bytes_per_s"`      // pacing rate; 0: unpaced
	DeliveredBytesPerS uint64            `json:"delivered_bytes_per_s"` // acknowledged, over some 200 ms; 0 a second after the last
	PacketBytes        int               `json:"packet_bytes"`          // UDP payload of a full packet: what all paths in use carry
	PathQueueUs        int64             `json:"path_queue_us"`         // queueing delay on the paths, smoothed
	PathQueueTargetUs  int64             `json:"path_queue_target_us"`  // what congestion control aims for
	WaitedUs           map[string]uint64 `json:"waited_us"`             // how long each limit held back sending: data (nothing to send), window, pacing, paths, outbox
	Recent             Recent            `json:"recent"`                // the same for the last second or two
	Messages           Messages          `json:"messages"`              // what the transport carried
	Order              Order             `json:"order"`                 // of what arrives
	Queue              Queue             `json:"queue"`                 // of what is to be sent
	Serial             Serial            `json:"serial"`                // what one thread at a time can do of the work for this peer
	Drops              map[string]uint64 `json:"drops"`                 // this peer's: reason to count
}

// Serial is what threads wait for each other for, and the trains that this was for. A train is
// a run of packets of one path.
type Serial struct {
	RxTrains uint64 `json:"rx_trains"` // received, of data packets
	TxTrains uint64 `json:"tx_trains"` // built
	Lock     Gate   `json:"lock"`      // the lock of the peer's state
	Flush    Gate   `json:"flush"`     // handing on what is in order, all eight places together, to each of which a flow belongs; who finds one taken leaves what it has there, and does not wait
}

// Gate is what became of a lock.
type Gate struct {
	Taken    uint64 `json:"taken"`     // how often
	Waits    uint64 `json:"waits"`     // of these, how often another thread had it
	WaitedUs uint64 `json:"waited_us"` // these waits together
	HeldUs   uint64 `json:"held_us"`   // how long it was held, reckoned from a sample of one in 61
	WorkUs   uint64 `json:"work_us"`   // processor time of that: the thread that has it may lose its processor
}

// Recent is what held back sending lately.
type Recent struct {
	OverUs   int64             `json:"over_us"`   // how long ago it begins: a second or two while there is traffic
	WaitedUs map[string]uint64 `json:"waited_us"` // each limit's part of it; what is left was spent on sending
}

// Worker is what one of the threads that carry packets did.
type Worker struct {
	RxPackets uint64 `json:"rx_packets"` // of the transport, opened or dropped
	TxTrains  uint64 `json:"tx_trains"`  // runs of up to 44 packets or more for one path
}

// fillEmpty replaces what is nil by what is empty, so that a script finds [] and
// {} and never null.
func (s *Status) fillEmpty() {
	if s.Unsaved == nil {
		s.Unsaved = []string{}
	}
	if s.Pending == nil {
		s.Pending = []string{}
	}
	if s.Missing == nil {
		s.Missing = []string{}
	}
	if s.Peers == nil {
		s.Peers = []Peer{}
	}
	if s.Drops == nil {
		s.Drops = map[string]uint64{}
	}
	if s.Workers == nil {
		s.Workers = []Worker{}
	}
	s.Device.fillEmpty()
	for i := range s.Peers {
		p := &s.Peers[i]
		if p.Endpoints == nil {
			p.Endpoints = []string{}
		}
		if p.AllowedIPs == nil {
			p.AllowedIPs = []string{}
		}
		if p.Paths == nil {
			p.Paths = []Path{}
		}
		if p.WaitedUs == nil {
			p.WaitedUs = map[string]uint64{}
		}
		if p.Recent.WaitedUs == nil {
			p.Recent.WaitedUs = map[string]uint64{}
		}
		if p.Drops == nil {
			p.Drops = map[string]uint64{}
		}
	}
}

// The states of a path.
const (
	PathCandidate = "candidate" // not validated yet; slot 256 if the peer was heard there and it is no path
	PathActive    = "active"
	PathSuspect   = "suspect" // acknowledgements are overdue: no new data
	PathDown      = "down"
)

// Path is one UDP 4-tuple to a peer.
type Path struct {
	Slot        uint16 `json:"slot"`         // number of the path at this end
	Local       string `json:"local"`        // address:port
	Interface   string `json:"interface"`    // by which alone its packets leave, as paths.local names it; "": whichever the routes prefer
	Remote      string `json:"remote"`       // address:port
	State       string `json:"state"`        // candidate (not validated yet), active, suspect (silent: no new data), down
	SRTTUs      int64  `json:"srtt_us"`      // smoothed round trip; 0: not measured
	BaseRTTUs   int64  `json:"base_rtt_us"`  // its minimum of the last 10 to 20 minutes, but for a route that became longer
	QueueUs     int64  `json:"queue_us"`     // srtt less base: the queueing delay
	MTU         int    `json:"mtu"`          // of the outer packet, IP header included
	SentPackets uint64 `json:"sent_packets"` // with data
	SentBytes   uint64 `json:"sent_bytes"`   // in these, UDP payload
	Lost        uint64 `json:"lost"`         // packets declared lost
	Retransmits uint64 `json:"retransmits"`  // packets sent on it that repaired a loss elsewhere
	Weight      uint32 `json:"weight"`       // share the policy gives it, permille of all

	ReceivedPackets uint64 `json:"received_packets"` // that came on its addresses and ports
	ReceivedCE      uint64 `json:"received_ce"`      // of these, marked by a queue: Congestion Experienced
	ReceivedNotECT  uint64 `json:"received_not_ect"` // of these, without the ECN mark that peers send: the network took it off
}

// Messages counts the reliable messages to a peer.
type Messages struct {
	Sent          uint64 `json:"sent"`           // for the first time
	Acked         uint64 `json:"acked"`          // by the peer
	Retransmitted uint64 `json:"retransmitted"`  // copies sent again
	Spurious      uint64 `json:"spurious"`       // packets taken to be lost that had arrived
	GivenUp       uint64 `json:"given_up"`       // left to the inner transport
	NeverRepaired uint64 `json:"never_repaired"` // of those, the ones that were sent only once
	Duplicates    uint64 `json:"duplicates"`     // received again and discarded
}

// Order is what the restoration of order holds back and has held back.
type Order struct {
	HeldFrames        uint64 `json:"held_frames"`         // now
	HeldBytes         uint64 `json:"held_bytes"`          // now
	MemoryBytes       uint64 `json:"memory_bytes"`        // that held frames take now
	DeliveredFrames   uint64 `json:"delivered_frames"`    // since the start
	ReorderedFrames   uint64 `json:"reordered_frames"`    // of those, the ones that waited for one before them
	HeldUs            uint64 `json:"held_us"`             // how long these waited, all together
	ReleasedByTimeout uint64 `json:"released_by_timeout"` // gaps not waited for any longer
	LongestHoldUs     int64  `json:"longest_hold_us"`     // since the start
}

// Queue is the ingress queue of a peer, ahead of the congestion window.
type Queue struct {
	Frames         uint64 `json:"frames"`           // now
	Bytes          uint64 `json:"bytes"`            // now
	Pushed         uint64 `json:"pushed"`           // frames that came from the device for this peer
	Popped         uint64 `json:"popped"`           // of those, the ones that were sent
	CutSuperFrames uint64 `json:"cut_super_frames"` // in VXLAN or Geneve, sent packet by packet since the peer does not read them whole
	Marks          uint64 `json:"marks"`            // inner packets marked CE
	Drops          uint64 `json:"drops"`            // frames dropped for their delay or for want of room
}
