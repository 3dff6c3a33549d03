package control

// Device is the TUN device: what the kernel granted, and what passed. Frames are
// single packets or super-frames, which count once; their bytes are those of the
// inner packets.
type Device struct {
	Queues            int      `json:"queues"`              // threads that can read at once
	UDPSuperFrames    bool     `json:"udp_super_frames"`    // runs of UDP cross whole (Linux 6.2); TCP always does
	TunnelSuperFrames bool     `json:"tunnel_super_frames"` // runs of packets in VXLAN and Geneve do too (Linux 6.17); else they come one by one
	TxQueueLen        int      `json:"tx_queue_len"`        // frames; 0: as the kernel had it
	GSOMaxBytes       int      `json:"gso_max_bytes"`       // longest super-frame read; 0: as the kernel had it
	GSOMaxSegments    int      `json:"gso_max_segments"`    // most packets in it; 0: as the kernel had it
	Problems          []string `json:"problems"`            // why something of the above is missing

	ReadFrames       uint64 `json:"read_frames"`              // from the kernel, to be sent
	ReadBytes        uint64 `json:"read_bytes"`               // in these
	ReadSuperFrames  uint64 `json:"read_super_frames"`        // of these, runs of packets
	ReadTunnelFrames uint64 `json:"read_tunnel_super_frames"` // of those, in VXLAN or Geneve
	SplitSuperFrames uint64 `json:"split_super_frames"`       // cut up since no peer would take them

	WrittenFrames       uint64 `json:"written_frames"`              // to the kernel, received
	WrittenBytes        uint64 `json:"written_bytes"`               // in these
	WrittenSuperFrames  uint64 `json:"written_super_frames"`        // of these, runs of packets
	JoinedSuperFrames   uint64 `json:"joined_super_frames"`         // of those, made here of single packets
	WrittenTunnelFrames uint64 `json:"written_tunnel_super_frames"` // of those, in VXLAN or Geneve
	CutSuperFrames      uint64 `json:"cut_super_frames"`            // in VXLAN or Geneve, written packet by packet since the kernel does not take them whole
	CopiedFrames        uint64 `json:"copied_frames"`               // written by way of a copy

	WriteBusy    uint64 `json:"write_busy"`    // dropped: the kernel had no memory
	WriteRefused uint64 `json:"write_refused"` // dropped: the kernel found the frame invalid
	WriteErrors  uint64 `json:"write_errors"`  // dropped: any other error

	UnreachableSent     uint64 `json:"unreachable_sent"`     // answers to packets that no peer gets: ICMP, host unreachable
	UnreachableWithheld uint64 `json:"unreachable_withheld"` // answers that were not given, since there were too many a second: 1,000 in all, 200 for a sender, 10 for a sender and a destination

	ReadDrops  map[string]uint64 `json:"read_drops"`  // what cannot be carried: reason to count
	WriteDrops map[string]uint64 `json:"write_drops"` // what a peer should not have sent: reason to count
}

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

// Sends counts what left through the sockets, over all peers.
type Sends struct {
	Trains  uint64 `json:"trains"`  // send calls that carried a run of packets or one
	Packets uint64 `json:"packets"` // in them
	// Unsegmented counts trains sent packet by packet because the route or
	// device refused UDP segmentation: slower, and worth knowing.
	Unsegmented uint64 `json:"unsegmented"`
	NoBuffer    uint64 `json:"no_buffer"` // packets dropped: a socket's or device's queue was full
	TooBig      uint64 `json:"too_big"`   // packets dropped: larger than the device's MTU
	Failed      uint64 `json:"failed"`    // packets dropped: any other error
}

// Receives is how packets come in through the sockets.
type Receives struct {
	Merged    bool   `json:"merged"`    // the kernel hands over runs of packets at once (UDP_GRO)
	Truncated uint64 `json:"truncated"` // dropped: longer than the buffer
	NotECT    uint64 `json:"not_ect"`   // trains that came without the ECN mark that peers send: the network took it off
}
