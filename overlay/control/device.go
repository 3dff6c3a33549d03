package control

// Device is the state of the TUN device: its counters, and the features that the kernel granted.
// A frame in the counters of Device is a single packet or a super-frame. Byte counters count the
// bytes of the inner packets.
type Device struct {
	Queues            int      `json:"queues"`              // threads that can read at the same time
	NoOffload         bool     `json:"no_offload"`          // single packets with finished checksums pass the device: interface.offload = false
	UDPSuperFrames    bool     `json:"udp_super_frames"`    // runs of UDP cross whole (Linux 6.2); TCP always does
	TunnelSuperFrames bool     `json:"tunnel_super_frames"` // runs of packets in VXLAN and Geneve cross whole, too (Linux 6.17); else they come one by one
	TxQueueLen        int      `json:"tx_queue_len"`        // frames; 0: as the kernel had it
	GSOMaxBytes       int      `json:"gso_max_bytes"`       // longest super-frame read; 0: as the kernel had it
	GSOMaxSegments    int      `json:"gso_max_segments"`    // most packets in it; 0: as the kernel had it
	Problems          []string `json:"problems"`            // why a feature above is missing

	ReadFrames       uint64 `json:"read_frames"`              // from the kernel, to be sent
	ReadBytes        uint64 `json:"read_bytes"`               // in these
	ReadSuperFrames  uint64 `json:"read_super_frames"`        // of these, runs of packets
	ReadTunnelFrames uint64 `json:"read_tunnel_super_frames"` // super-frames in VXLAN or Geneve
	SplitSuperFrames uint64 `json:"split_super_frames"`       // split because no peer takes them
	ReadSingles      uint64 `json:"read_singles"`             // TCP packets that continue the packet before them, and could have come with it in a super-frame
	ReadAccECN       uint64 `json:"read_singles_accecn"`      // of these, with AccECN's flag: a TUN device takes no super-frames of AccECN

	WrittenFrames       uint64 `json:"written_frames"`              // to the kernel, received
	WrittenBytes        uint64 `json:"written_bytes"`               // in these
	WrittenSuperFrames  uint64 `json:"written_super_frames"`        // of these, runs of packets
	JoinedSuperFrames   uint64 `json:"joined_super_frames"`         // super-frames joined here from single packets
	WrittenTunnelFrames uint64 `json:"written_tunnel_super_frames"` // super-frames in VXLAN or Geneve
	CutSuperFrames      uint64 `json:"cut_super_frames"`            // written packet by packet: in VXLAN or Geneve if the kernel does not take them whole, all with offload off
	CopiedFrames        uint64 `json:"copied_frames"`               // written through a copy

	WriteBusy    uint64 `json:"write_busy"`    // dropped: the kernel had no memory
	WriteRefused uint64 `json:"write_refused"` // dropped: the kernel found the frame invalid
	WriteErrors  uint64 `json:"write_errors"`  // dropped: any other error

	UnreachableSent     uint64 `json:"unreachable_sent"`     // ICMP host unreachable, sent for packets without a peer
	UnreachableWithheld uint64 `json:"unreachable_withheld"` // such answers withheld by the limits for a second: 1,000 in all, 200 for a sender, 10 for a sender and a destination

	ReadDrops  map[string]uint64 `json:"read_drops"`  // packets that cannot be carried: reason to count
	WriteDrops map[string]uint64 `json:"write_drops"` // packets that a peer should not have sent: reason to count
}

// fewSingles is the smallest value of ReadSingles for which the ratio to ReadSuperFrames is
// meaningful.
const fewSingles = 1000

// manySingles is the ratio of ReadSingles to ReadSuperFrames above which something prevents
// super-frames. A TCP sender whose window opens in small steps also sends single packets: about one
// for each super-frame was observed.
const manySingles = 8

// Singly reports whether the kernel passes inner TCP in single packets although offload is on.
func (d *Device) Singly() bool {
	return !d.NoOffload && d.ReadSingles > fewSingles && d.ReadSingles > manySingles*d.ReadSuperFrames
}

// OfAccECN reports whether AccECN is the reason for the single packets: most of them have AccECN's
// flag.
func (d *Device) OfAccECN() bool { return 2*d.ReadAccECN > d.ReadSingles }

func (d *Device) fillEmpty() {
	if d.Problems == nil {
		d.Problems = []string{}
	}
	if d.ReadDrops == nil {
		d.ReadDrops = map[string]uint64{}
	}
	if d.WriteDrops == nil {
		d.WriteDrops = map[string]uint64{}
	}
}

// Sends counts the packets that the sockets sent to all peers.
type Sends struct {
	Trains      uint64 `json:"trains"`      // send calls that carried a run of packets or one
	Packets     uint64 `json:"packets"`     // in them
	Unsegmented uint64 `json:"unsegmented"` // trains sent packet by packet, because the route or the device refused UDP segmentation
	NoBuffer    uint64 `json:"no_buffer"`   // packets dropped: a socket's or device's queue was full
	TooBig      uint64 `json:"too_big"`     // packets dropped: larger than the device's MTU
	Failed      uint64 `json:"failed"`      // packets dropped: any other error
}

// Receives counts the packets that the sockets received.
type Receives struct {
	Merged    bool   `json:"merged"`    // the kernel hands over runs of packets together (UDP_GRO)
	Truncated uint64 `json:"truncated"` // dropped: longer than the buffer
	NotECT    uint64 `json:"not_ect"`   // trains without the peers' ECN mark: the network cleared it
}
