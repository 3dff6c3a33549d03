package control

// Version is the program's version in `srdtun version` and Status. The linker sets Version
// (-ldflags "-X ..."), or main sets it at its start.
var Version = "dev"

// Schema is the version of the layout of Status, Flows and Pings. The schema number grows when a
// field is removed or changes its meaning. A new field leaves the schema number unchanged.
const Schema = 1

// Status is the output of `srdtun show --json` for one interface. Units are part of the JSON
// names: _us microseconds, _s seconds, _bytes bytes. All counters start at zero when the daemon
// starts.
type Status struct {
	Schema     int               `json:"schema"`      // number of this layout: grows when a field is removed or changes its meaning
	Interface  string            `json:"interface"`   // name of the device
	File       string            `json:"file"`        // its configuration, with the whole path
	FileDigest string            `json:"file_digest"` // stands for the values of the file as loaded, with its keys
	FileStale  string            `json:"file_stale"`  // how the file has changed since it was loaded, as far as the command can read it; "": it has not
	PublicKey  string            `json:"public_key"`  // base64, as wg prints it
	ListenPort uint16            `json:"listen_port"` // UDP port that peers call
	MTU        int               `json:"mtu"`         // of the inner interface
	FwMark     uint32            `json:"fwmark"`      // of outer packets; 0: none
	Cipher     string            `json:"cipher"`      // as configured
	UptimeS    int64             `json:"uptime_s"`    // since the daemon's start
	Unsaved    []string          `json:"unsaved"`     // keys that were changed while running and differ from the file
	Pending    []string          `json:"pending"`     // keys that differ from the file and need a restart
	Missing    []string          `json:"missing"`     // entries of paths.local that have no address here
	Conflicts  []string          `json:"conflicts"`   // outer packets that go into a tunnel, and inner packets that do not: a line each
	Faults     []string          `json:"faults"`      // states of this host in which nothing passes, or less than configured: a line each
	Expired    []Expired         `json:"expired"`     // peers that were removed because their time is over, the latest first
	Version    string            `json:"version"`     // of the daemon that runs
	Peers      []Peer            `json:"peers"`       // in the order of the file
	Drops      map[string]uint64 `json:"drops"`       // device and sockets: reason to count
	Device     Device            `json:"device"`      // the TUN device
	Workers    []Worker          `json:"workers"`     // the threads that carry packets
	Sends      Sends             `json:"sends"`       // packets that left through the sockets
	Receives   Receives          `json:"receives"`    // how packets come in
}

// Expired is a peer whose configured lifetime is over.
type Expired struct {
	Name         string `json:"name"`           // as configured; "": none
	PublicKey    string `json:"public_key"`     // base64, as wg prints it
	ExpiredUnixS int64  `json:"expired_unix_s"` // its expiry
}

// Peer is one peer of an interface.
type Peer struct {
	Name                 string   `json:"name"`                    // as configured; "": none
	PublicKey            string   `json:"public_key"`              // base64, as wg prints it
	HasPresharedKey      bool     `json:"has_preshared_key"`       // the key itself is never shown
	Endpoint             string   `json:"endpoint"`                // address:port to call: a configured one, or a validated listening port of the peer; "": unknown
	HeardFrom            string   `json:"heard_from"`              // address:port of the latest data, with any source port; "": no data yet
	Endpoints            []string `json:"endpoints"`               // as configured
	AllowedIPs           []string `json:"allowed_ips"`             // as configured
	LatestHandshakeUnixS int64    `json:"latest_handshake_unix_s"` // 0: never
	SilentSinceUnixS     int64    `json:"silent_since_unix_s"`     // start of the silence: no answer to any packet sent since; 0: answered, or sent less than 5 s ago
	LeftUnixS            int64    `json:"left_unix_s"`             // when the peer ended the session in order, and since then its paths are down; 0: it has not, or there is a session again
	NoWay                string   `json:"no_way"`                  // why this host cannot send to the peer now; "": it can, or it has no address of the peer
	SessionFault         string   `json:"session_fault"`           // why handshakes fail although packets from its address arrive, that two hosts have its key, or that no full packet passes; "": none of these
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
	PacketBytes        int               `json:"packet_bytes"`          // UDP payload of a full packet that fits all paths in use
	PathQueueUs        int64             `json:"path_queue_us"`         // queueing delay on the paths, smoothed
	PathQueueTargetUs  int64             `json:"path_queue_target_us"`  // target of congestion control
	WaitedUs           map[string]uint64 `json:"waited_us"`             // how long each limit held back sending: data (nothing to send), window, pacing, paths, outbox
	Recent             Recent            `json:"recent"`                // the same for the last second or two
	Messages           Messages          `json:"messages"`              // messages of the transport
	Order              Order             `json:"order"`                 // restoration of order on arrival
	Queue              Queue             `json:"queue"`                 // queue ahead of sending
	RxTrains           uint64            `json:"rx_trains"`             // runs of data packets of one path received
	TxTrains           uint64            `json:"tx_trains"`             // runs of data packets of one path built
	Drops              map[string]uint64 `json:"drops"`                 // this peer's: reason to count
}

// Recent has the limits that recently held back sending.
type Recent struct {
	OverUs   int64             `json:"over_us"`   // length of the time span: a second or two while there is traffic
	WaitedUs map[string]uint64 `json:"waited_us"` // each limit's part of the span; the rest was spent on sending
}

// Worker counts the work of one thread that carries packets.
type Worker struct {
	RxPackets uint64 `json:"rx_packets"` // of the transport, opened or dropped
	TxTrains  uint64 `json:"tx_trains"`  // runs of up to 44 packets or more for one path
}

// fillEmpty replaces nil lists and maps by empty ones, so that a script always finds [] or {},
// never null.
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
	if s.Conflicts == nil {
		s.Conflicts = []string{}
	}
	if s.Faults == nil {
		s.Faults = []string{}
	}
	if s.Expired == nil {
		s.Expired = []Expired{}
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
}

func (p *Peer) fillEmpty() {
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

// These constants are the states of a path.
const (
	PathCandidate = "candidate" // not validated yet; slot 256 for an address without a path where the peer was heard
	PathActive    = "active"
	PathSuspect   = "suspect" // acknowledgements are overdue: no new data
	PathDown      = "down"
)

// Path is one UDP 4-tuple to a peer.
type Path struct {
	Slot        uint16 `json:"slot"`         // number of the path at this end
	Local       string `json:"local"`        // address:port
	Interface   string `json:"interface"`    // the only interface of its packets, from paths.local; "": the routes choose
	Remote      string `json:"remote"`       // address:port
	State       string `json:"state"`        // candidate (not validated yet), active, suspect (silent: no new data), down
	SRTTUs      int64  `json:"srtt_us"`      // smoothed round trip; 0: not measured
	BaseRTTUs   int64  `json:"base_rtt_us"`  // minimum of the last 10 to 20 minutes; it grows if the route became longer
	QueueUs     int64  `json:"queue_us"`     // srtt less base: the queueing delay
	MTU         int    `json:"mtu"`          // of the outer packet, IP header included
	SentPackets uint64 `json:"sent_packets"` // with data
	SentBytes   uint64 `json:"sent_bytes"`   // in these, UDP payload
	Lost        uint64 `json:"lost"`         // packets declared lost
	Retransmits uint64 `json:"retransmits"`  // packets sent on it that repaired a loss on another path
	Weight      uint32 `json:"weight"`       // share the policy gives it, permille of all

	ReceivedPackets uint64 `json:"received_packets"` // packets that came on its addresses and ports
	ReceivedCE      uint64 `json:"received_ce"`      // of these, marked by a queue: Congestion Experienced
	ReceivedNotECT  uint64 `json:"received_not_ect"` // of these, without the peer's ECN mark: the network cleared it
}

// Messages counts the reliable messages to a peer.
type Messages struct {
	Sent          uint64 `json:"sent"`           // for the first time
	Acked         uint64 `json:"acked"`          // by the peer
	Retransmitted uint64 `json:"retransmitted"`  // copies sent again
	Spurious      uint64 `json:"spurious"`       // packets declared lost that had arrived
	Copied        uint64 `json:"copied"`         // sent on a second uplink at the same time as on the first
	CopiesRefused uint64 `json:"copies_refused"` // not copied, because the copy was not within the budget
	GivenUp       uint64 `json:"given_up"`       // given up; the inner transport must repair them
	NeverRepaired uint64 `json:"never_repaired"` // of these, messages sent only once
	Duplicates    uint64 `json:"duplicates"`     // received again and discarded
}

// Order counts the received frames that wait, or waited, for earlier frames of their flow.
type Order struct {
	HeldFrames        uint64 `json:"held_frames"`         // now
	HeldBytes         uint64 `json:"held_bytes"`          // now
	MemoryBytes       uint64 `json:"memory_bytes"`        // memory of held frames now
	DeliveredFrames   uint64 `json:"delivered_frames"`    // since the start
	ReorderedFrames   uint64 `json:"reordered_frames"`    // of these, frames that waited for an earlier one
	HeldUs            uint64 `json:"held_us"`             // total waiting time of these frames
	ReleasedByTimeout uint64 `json:"released_by_timeout"` // gaps given up after the longest wait
	LongestHoldUs     int64  `json:"longest_hold_us"`     // since the start
}

// Queue is the ingress queue of a peer, ahead of the congestion window.
type Queue struct {
	Frames         uint64 `json:"frames"`           // now
	Bytes          uint64 `json:"bytes"`            // now
	Pushed         uint64 `json:"pushed"`           // frames that came from the device for this peer
	Popped         uint64 `json:"popped"`           // of these, frames that were sent
	CutSuperFrames uint64 `json:"cut_super_frames"` // in VXLAN or Geneve, sent packet by packet because the peer cannot read super-frames of tunnels
	Marks          uint64 `json:"marks"`            // inner packets marked CE
	Drops          uint64 `json:"drops"`            // frames dropped for their delay or for lack of room
}
