package daemon

import (
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/srd/udp"
)

func (s *status) describeDevice() control.Device {
	d, o := s.device.tun.Stats(), s.device.tun.Offloads()
	return control.Device{
		Queues: s.device.tun.Queues(), NoOffload: o.Off, UDPSuperFrames: o.USO, TunnelSuperFrames: o.Tunnels, TxQueueLen: o.TxQueueLen,
		GSOMaxBytes: o.GSOMaxSize, GSOMaxSegments: o.GSOMaxSegments, Problems: o.Problems,
		ReadFrames: d.Read, ReadBytes: d.ReadBytes, ReadSuperFrames: d.ReadSuper, SplitSuperFrames: d.Split,
		ReadSingles: d.ReadSingles, ReadAccECN: d.ReadAccECN,
		WrittenFrames: d.Written, WrittenBytes: d.WrittenBytes, WrittenSuperFrames: d.WrittenSuper,
		ReadTunnelFrames: d.ReadTunnel, WrittenTunnelFrames: d.WrittenTunnel, CutSuperFrames: d.Cut,
		JoinedSuperFrames: d.WrittenJoined, CopiedFrames: d.Copied,
		WriteBusy: d.WriteBusy, WriteRefused: d.WriteRefused, WriteErrors: d.WriteErrors,
		UnreachableSent: s.ingress.rejects.sent.Load(), UnreachableWithheld: s.ingress.rejects.withheld.Load(),
		ReadDrops: byReason(d.ReadDrops), WriteDrops: byReason(d.WriteDrops),
	}
}

func byReason(n [packet.NumReasons]uint64) map[string]uint64 {
	return counters(func(add func(name string, n uint64)) {
		for r := range n {
			add(packet.Reason(r).String(), n[r])
		}
	}).happened()
}

func describeSends(n *udp.SendStats) control.Sends {
	return control.Sends{
		Trains: n.Trains.Load(), Packets: n.Packets.Load(), Unsegmented: n.NoSegments.Load(),
		NoBuffer: n.NoBuffer.Load(), TooBig: n.TooBig.Load(), Failed: n.Failed.Load(),
	}
}
