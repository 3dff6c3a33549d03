package daemon

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// status collects the state of the daemon for the control socket and other readers.
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

func (s *status) show(peers []*peer) control.Status {
	st := control.Status{
		Interface:  s.device.tun.Name(),
		PublicKey:  config.Key(s.sessions.id.Public()).String(),
		ListenPort: s.sockets.bank.Socket(0).Port,
		MTU:        s.device.mtu(),
		FwMark:     s.sockets.mark.Load(),
		Cipher:     s.running.cfg().Transport.Cipher,
		UptimeS:    int64(time.Since(s.start).Seconds()),
		Drops:      s.dropCounts().happened(),
		Device:     s.describeDevice(),
		Sends:      describeSends(&s.sessions.loop.Sends),
		Receives:   control.Receives{Merged: s.sockets.bank.GRO(), Truncated: s.sessions.loop.Recvs.Truncated.Load(), NotECT: s.sessions.loop.Recvs.NotECT.Load()},
	}
	s.settings.compareFile(&st)
	st.Conflicts = s.endpoints.standing.all()
	st.Missing = missingLocals(s.running.cfg().Paths.Local)
	st.Faults = slices.Concat(s.endpoints.faults.all(), s.device.faults(), s.sessions.blocked.faults())
	for _, l := range loopLocals(s.running.cfg()) {
		st.Faults = append(st.Faults, "paths.local: "+onLoopback(l))
	}
	st.Faults = append(st.Faults, refusedFaults(s.running.peers())...)
	st.Faults = append(st.Faults, s.settings.dropInFaults()...)
	st.Expired = s.settings.expiredNow()
	for _, w := range s.sessions.loop.Workers() {
		st.Workers = append(st.Workers, control.Worker{RxPackets: w.Packets, TxTrains: w.Trains})
	}
	st.Peers = slices.AppendSeq(make([]control.Peer, 0, len(peers)), s.each(peers))
	return st
}

// each returns a sequence of the peers' states. The state of a peer is read only when the sequence
// reaches it.
func (s *status) each(peers []*peer) iter.Seq[control.Peer] {
	return func(yield func(control.Peer) bool) {
		for _, p := range peers {
			if !yield(s.describe(p)) {
				return
			}
		}
	}
}

// counters is a function that calls the function add() with the name and value of each counter.
// Counters with the same name are added up.
type counters func(add func(name string, n uint64))

func (each counters) all() map[string]uint64 {
	c := map[string]uint64{}
	each(func(name string, n uint64) { c[name] += n })
	return c
}

// happened returns a map of the counters that are not zero, keyed by name. Zeros are left out of
// the map, because a hub has a thousand peers with dozens of counters, most of them zero.
func (each counters) happened() map[string]uint64 {
	c := map[string]uint64{}
	each(func(name string, n uint64) {
		if n > 0 {
			c[name] += n
		}
	})
	return c
}

func (s *status) dropCounts() counters { return s.eachDrop }

func (s *status) eachDrop(add func(name string, n uint64)) {
	d := s.device.tun.Stats()
	for r := range packet.NumReasons {
		add("device_read_"+packet.Reason(r).String(), d.ReadDrops[r])
		add("device_write_"+packet.Reason(r).String(), d.WriteDrops[r])
	}
	add("device_busy", d.WriteBusy)
	add("device_refused", d.WriteRefused)
	add("device_error", d.WriteErrors)
	add("no_route", s.ingress.drops.noRoute.Load())
	l := s.sessions.loop
	add("device_stale", s.ingress.drops.stale.Load())
	add(srd.EndUnknownType.String(), l.Drops.UnknownType.Load())
	add("unknown_index", l.Drops.UnknownIndex.Load())
	add("forged", l.Drops.Forged.Load())
	add("peer_removed", l.Drops.Closed.Load()+s.ingress.drops.removed.Load())
	add("out_of_turn", l.Drops.OutOfTurn.Load())
	add("through_itself", l.Drops.Inner.Load())
	add("not_in_paths_local", l.Drops.Barred.Load())
	add("kernel_filter_or_full_buffer", s.sockets.bank.Refused())
	add("receive_truncated", l.Recvs.Truncated.Load())
	add("send_buffer_full", l.Sends.NoBuffer.Load())
	add("send_too_big", l.Sends.TooBig.Load())
	add("send_unreachable", l.Sends.Unreachable.Load())
	add("send_failed", l.Sends.Failed.Load())
	add("send_stopped", l.Drops.Stopped.Load())
	add("send_path_closed", l.Drops.PathClosed.Load())
	add("send_not_in_paths_local", l.Drops.Withheld.Load())
	for r, n := range l.EndpointDrops() {
		add(srd.EndpointReason(r).String(), n)
	}
}

func (s *status) describe(p *peer) control.Peer {
	v := control.Peer{
		Name:                 p.cfg().Name,
		PublicKey:            p.cfg().PublicKey.String(),
		HasPresharedKey:      !p.cfg().PresharedKey.IsZero(),
		PersistentKeepaliveS: int(p.cfg().PersistentKeepalive / time.Second),
	}
	for _, e := range p.cfg().Endpoints {
		v.Endpoints = append(v.Endpoints, e.String())
	}
	for _, a := range p.cfg().AllowedIPs {
		v.AllowedIPs = append(v.AllowedIPs, a.String())
	}
	p.link.Do(func(now mono.Time, c *srd.Conn) {
		v.Policy = p.steering.name
		s.describeConn(&v, p, now, c)
	})
	c := p.link.Carried()
	v.RxTrains, v.TxTrains = c.In, c.Out
	return v
}

func (s *status) describeConn(v *control.Peer, p *peer, now mono.Time, c *srd.Conn) {
	if e := s.endpoints.callable(p, c); e.IsValid() {
		v.Endpoint = e.String()
	}
	if e := c.Endpoint(); e.IsValid() {
		v.HeardFrom = e.String()
	}
	k := c.Session(now)
	if k.Since != 0 {
		v.LatestHandshakeUnixS = time.Now().Add(k.Since.Sub(now)).Unix()
		if k.Ready {
			v.Cipher = fmt.Sprint(k.Cipher)
		}
	}
	t := c.Stats()
	p.health.observe(now, k, c)
	if since, silent := p.health.silence.Since(now); silent {
		v.SilentSinceUnixS = time.Now().Add(since.Sub(now)).Unix()
	}
	if at := p.health.left.At(); at != 0 {
		v.LeftUnixS = time.Now().Add(at.Sub(now)).Unix()
	}
	v.NoWay, v.SessionFault = p.remote.noWay, p.health.sessionFault(now, k)
	v.RxBytes, v.TxBytes = t.RxBytes, t.TxBytes
	window, inflight, rate := c.Window()
	v.CwndBytes, v.BytesInFlight, v.RateBytesPerS = uint64(window), uint64(max(0, inflight)), uint64(rate)
	v.Messages = control.Messages{
		Sent: t.Sent, Acked: t.Acked, Retransmitted: t.Retransmitted, Spurious: t.Spurious,
		GivenUp: t.GivenUp, NeverRepaired: t.NeverRepaired, Duplicates: t.Drops[srd.DropDuplicate],
	}
	if d, ok := p.steering.policy.(interface {
		Copies() (copied, refused uint64)
	}); ok {
		v.Messages.Copied, v.Messages.CopiesRefused = d.Copies()
	}
	v.DeliveredBytesPerS = uint64(c.Delivered(now))
	describeLimits(v, p, now, c)
	g := p.in.reassembler.Stats()
	v.Order = control.Order{
		HeldFrames: uint64(g.HeldNow), HeldBytes: uint64(max(0, g.HeldBytes)), MemoryBytes: uint64(max(0, g.Memory)),
		DeliveredFrames: g.Delivered, ReorderedFrames: g.Reordered, HeldUs: uint64(g.Held.Microseconds()),
		ReleasedByTimeout: g.TimedOut, LongestHoldUs: g.Longest.Microseconds(),
	}
	q := p.out.queue.Stats()
	v.Queue = control.Queue{
		Frames: uint64(p.out.queue.Len()), Bytes: uint64(p.out.queue.Bytes()),
		Pushed: q.Pushed, Popped: q.Popped, CutSuperFrames: p.out.pieces.cuts, Marks: q.Marked, Drops: q.Dropped + q.Overflow + q.OverShare + q.Shortened,
	}
	v.Drops = peerDrops(p, t).happened()
	s.describePaths(v, c)
	for _, t := range c.Candidates(now) {
		v.Paths = append(v.Paths, control.Path{
			Slot: steer.MaxPaths, Local: s.sockets.local(t), Interface: s.uplinks.interfaceOf(t.Local), Remote: t.Remote.String(), State: control.PathCandidate,
		})
	}
}

func describeLimits(v *control.Peer, p *peer, now mono.Time, c *srd.Conn) {
	v.PacketBytes = c.Packet()
	queue, target := c.Queue()
	v.PathQueueUs, v.PathQueueTargetUs = queue.Microseconds(), target.Microseconds()
	waits := c.Waits(now)
	v.WaitedUs = map[string]uint64{}
	for l, d := range waits {
		v.WaitedUs[srd.Limit(l).String()] = uint64(d.Microseconds())
	}
	p.health.recent.Observe(now, waits)
	v.Recent = p.health.recent.Tell(now, waits)
}

func peerDrops(p *peer, t *srd.Stats) counters {
	return func(add func(name string, n uint64)) {
		for r, n := range t.Drops {
			add(srd.Reason(r).String(), n)
		}
		add("path_unreachable", t.PathsRefused)
		g, q := p.in.reassembler.Stats(), p.out.queue.Stats()
		add("order_bad_message", g.Bad)
		add("order_incomplete_frame", g.Voided-p.in.stale) // without those counted as stale
		add("order_overflow", g.Overflow)
		add("order_over_share", g.OverShare)
		add("queue_overflow", q.Overflow)
		add("queue_over_share", q.OverShare)
		add("queue_stale", q.Flushed+p.out.stale)
		add("receive_stale", p.in.stale)
		add("peer_restarted", p.out.unfinished)
		add(control.DropCodel, q.Dropped-q.DroppedUDP)
		add(control.DropCodelSegment, q.Shortened-q.ShortenedUDP)
		add(control.DropCodelDatagram, q.DroppedUDP+q.ShortenedUDP)
		add("order_stale", p.delivery.aged.Load())
		add("source_not_allowed", p.delivery.forged.Load())
		add("inner_header", p.delivery.malformed.Load())
		add("no_endpoint", p.out.noEndpoint.Load())
	}
}

func (s *status) describePaths(v *control.Peer, c *srd.Conn) {
	paths := c.Paths()
	for i := range paths {
		// After a peer has left, the transport keeps its paths for the next session. Until then
		// they carry no packets. The transport detects that a path does not work only if packets
		// are lost on it.
		if u := paths[i].Tuple.Local; v.LeftUnixS != 0 || v.NoWay != "" || u.Link() != 0 && s.uplinks.interfaces.fault(u) != "" {
			paths[i].State = unused(paths[i].State)
		}
	}
	var sum float64
	for _, p := range paths {
		if p.State == srd.PathActive {
			sum += p.Weight
		}
	}
	for _, p := range paths {
		o := control.Path{
			Slot: p.Slot, Local: s.sockets.local(p.Tuple), Interface: s.uplinks.interfaceOf(p.Tuple.Local), Remote: p.Tuple.Remote.String(), State: p.State.String(),
			SRTTUs: p.RTT.Microseconds(), BaseRTTUs: p.Base.Microseconds(), QueueUs: (p.RTT - p.Base).Microseconds(),
			SentPackets: p.Packets, SentBytes: p.Bytes, Lost: p.Lost, Retransmits: p.Retransmits,
			ReceivedPackets: p.Received, ReceivedCE: p.Marked, ReceivedNotECT: p.Unmarked,
		}
		if p.MTU > 0 {
			o.MTU = p.MTU + udpIPv4
			if p.Tuple.Remote.Addr().Is6() {
				o.MTU = p.MTU + udpIPv6
			}
		}
		if p.State == srd.PathActive && sum > 0 {
			o.Weight = uint32(1000*p.Weight/sum + 0.5)
		}
		v.Paths = append(v.Paths, o)
	}
}

// unused returns the state of a path that carries no packets now, whatever the transport knows.
func unused(s srd.PathState) srd.PathState {
	if s == srd.PathCandidate {
		return s
	}
	return srd.PathDown
}
