package metrics

import "github.com/prometheus/client_golang/prometheus"

// metric defines one metric. A test checks that docs/monitoring.md contains the help text of
// each metric.
type metric struct {
	name   string
	kind   prometheus.ValueType
	help   string
	labels []string
	desc   *prometheus.Desc
}

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

// Each series has the labels of its interface, peer or path. A peer has the same labels as in
// WireGuard's exporters, except for allowed_ips. A peer may have 65,536 allowed IPs, and each
// series would repeat all of them.
var (
	ofInterface = []string{"interface"}
	ofReason    = []string{"interface", "reason"}
	ofPeer      = []string{"interface", "public_key", "friendly_name"}
	ofPath      = append(ofPeer[:3:3], "local", "remote")
)

var table []*metric

func define(name string, kind prometheus.ValueType, labels []string, help string) *metric {
	m := &metric{name: "srdtun_" + name, kind: kind, help: help, labels: labels}
	m.desc = prometheus.NewDesc(m.name, help, labels, nil)
	table = append(table, m)
	return m
}

// The following metrics describe the interface.
var (
	info           = define("info", gauge, []string{"interface", "version", "public_key", "cipher"}, "1; the program's version and key.")
	uptime         = define("uptime_seconds", gauge, ofInterface, "Time since the start of the daemon.")
	mtu            = define("mtu_bytes", gauge, ofInterface, "MTU inside the tunnel.")
	drops          = define("drops_total", counter, ofReason, "Packets and frames dropped, over all peers, by reason.")
	readFrames     = define("device_read_frames_total", counter, ofInterface, "Frames that the host sent into the tunnel; super-frames count once.")
	readBytes      = define("device_read_bytes_total", counter, ofInterface, "Bytes that the host sent into the tunnel.")
	readSingles    = define("device_read_single_tcp_packets_total", counter, ofInterface, "TCP packets that continue the packet before them, and could have come with it in a super-frame.")
	readAccECN     = define("device_read_single_accecn_packets_total", counter, ofInterface, "The same with the flag of AccECN, for which TUN devices have no super-frames.")
	writtenFrames  = define("device_written_frames_total", counter, ofInterface, "Frames that the host got out of the tunnel; super-frames count once.")
	writtenBytes   = define("device_written_bytes_total", counter, ofInterface, "Bytes that the host got out of the tunnel.")
	trains         = define("udp_trains_total", counter, ofInterface, "Send calls; each carries a run of packets or one.")
	packets        = define("udp_sent_packets_total", counter, ofInterface, "UDP packets sent.")
	unsegmented    = define("udp_unsegmented_trains_total", counter, ofInterface, "Runs sent packet by packet, because the route or device refused UDP segmentation.")
	workerReceived = define("worker_received_packets_total", counter, []string{"interface", "worker"}, "UDP packets that a thread received.")

	enaEligible = define("ena_srd_eligible_tx_pkts_total", counter, ofInterface, "Frames from the host that a peer takes, sent or not.")
	enaTx       = define("ena_srd_tx_pkts_total", counter, ofInterface, "Frames from the host that were handed to the transport.")
	enaRx       = define("ena_srd_rx_pkts_total", counter, ofInterface, "Frames that came by the transport, complete and in order.")
	enaUse      = define("ena_srd_resource_utilization", gauge, ofInterface, "Use of the fullest queue or reordering buffer of a peer, in percent of its bound.")
)

// The following metrics describe a peer. The first three have the same names as in WireGuard's
// exporters, except for the prefix. The prefix differs because such an exporter may run on the same
// host, and a sum must not mix the metrics of both.
var (
	sentBytes     = define("sent_bytes_total", counter, ofPeer, "UDP payload sent to the peer.")
	receivedBytes = define("received_bytes_total", counter, ofPeer, "UDP payload received from the peer.")
	handshake     = define("latest_handshake_seconds", gauge, ofPeer, "Unix time of the latest handshake; 0 without one.")

	peerInfo  = define("peer_info", gauge, append(ofPeer[:3:3], "endpoint", "cipher", "policy"), "1; the peer's address, cipher and path policy.")
	session   = define("session", gauge, ofPeer, "1 with valid keys, else 0.")
	silent    = define("silent_seconds", gauge, ofPeer, "Time since the first packet without an answer, from 5 s on; else 0.")
	paths     = define("paths", gauge, append(ofPeer[:3:3], "state"), "Paths in each state: active, suspect, down, candidate.")
	rtt       = define("rtt_seconds", gauge, ofPeer, "Smoothed round-trip time, the mean of the active paths by their weight.")
	rttWorst  = define("rtt_worst_seconds", gauge, ofPeer, "The same of the slowest active path.")
	queueing  = define("queueing_seconds", gauge, ofPeer, "The part of the round-trip time that is spent in queues of the network, by weight.")
	cwnd      = define("cwnd_bytes", gauge, ofPeer, "Congestion window.")
	inflight  = define("in_flight_bytes", gauge, ofPeer, "Sent and not yet acknowledged.")
	pacing    = define("pacing_bytes_per_second", gauge, ofPeer, "Pacing rate; 0: unpaced.")
	delivered = define("delivered_bytes_per_second", gauge, ofPeer, "Acknowledged, over some 200 ms.")
	waited    = define("waited_seconds_total", counter, append(ofPeer[:3:3], "limit"), "How long each limit held back sending: data (nothing to send), window, pacing, paths, outbox.")

	messages      = define("messages_sent_total", counter, ofPeer, "Messages sent for the first time; a message is a frame's part in one packet.")
	acked         = define("messages_acked_total", counter, ofPeer, "Messages acknowledged.")
	retransmitted = define("messages_retransmitted_total", counter, ofPeer, "Messages sent again.")
	spurious      = define("packets_spuriously_lost_total", counter, ofPeer, "Packets declared lost that had arrived.")
	copied        = define("messages_copied_total", counter, ofPeer, "Messages sent on a second uplink at the same time as on the first.")
	copiesRefused = define("messages_copies_refused_total", counter, ofPeer, "Messages not copied, because the copy was not within the budget.")
	givenUp       = define("messages_given_up_total", counter, ofPeer, "Messages given up; the inner transport must repair them.")
	duplicates    = define("messages_duplicate_total", counter, ofPeer, "Messages received again and discarded.")

	heldFrames = define("order_held_frames", gauge, ofPeer, "Frames that wait for an earlier frame.")
	reordered  = define("order_reordered_frames_total", counter, ofPeer, "Frames that had to wait for an earlier frame.")
	held       = define("order_held_seconds_total", counter, ofPeer, "Total time for which frames waited for an earlier frame.")
	timedOut   = define("order_timeouts_total", counter, ofPeer, "Gaps in a flow that were given up after the longest wait.")

	queueFrames = define("queue_frames", gauge, ofPeer, "Frames that wait to be sent.")
	queueBytes  = define("queue_bytes", gauge, ofPeer, "Bytes that wait to be sent.")
	queueMarks  = define("queue_marks_total", counter, ofPeer, "Inner packets marked CE.")
	peerDrops   = define("peer_drops_total", counter, append(ofPeer[:3:3], "reason"), "Drops of one peer, by reason.")
)

// The following metrics describe a path. They are exported only if the configuration asks for it.
var (
	pathActive      = define("path_active", gauge, ofPath, "1 if the path takes data, else 0.")
	pathRTT         = define("path_rtt_seconds", gauge, ofPath, "Smoothed round-trip time.")
	pathBase        = define("path_base_rtt_seconds", gauge, ofPath, "Round-trip time without queues.")
	pathWeight      = define("path_weight_ratio", gauge, ofPath, "Share of the packets that the policy gives it.")
	pathMTU         = define("path_mtu_bytes", gauge, ofPath, "Largest outer packet that passes.")
	pathSentPackets = define("path_sent_packets_total", counter, ofPath, "Packets sent.")
	pathSentBytes   = define("path_sent_bytes_total", counter, ofPath, "Bytes sent.")
	pathLost        = define("path_lost_packets_total", counter, ofPath, "Packets declared lost.")
	pathRepairs     = define("path_repair_packets_total", counter, ofPath, "Packets sent that repaired a loss elsewhere.")
	pathsLeftOut    = define("paths_left_out", gauge, ofInterface, "Paths without series, because there are more than 4,096.")
)
