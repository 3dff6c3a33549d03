package metrics

import (
	"time"

	"github.com/srdtun/srdtun/overlay/control"
)

// micro is a microsecond in seconds, because Prometheus measures times in seconds.
const micro = 1e-6

// collectPeer emits the series of a peer. A peer that never sent data has only a few series,
// because a hub may have a thousand peers without data.
func collectPeer(e emitter, p *control.Peer) {
	e.count(sentBytes, p.TxBytes)
	e.count(receivedBytes, p.RxBytes)
	e.put(handshake, float64(p.LatestHandshakeUnixS))
	e.put(peerInfo, 1, p.Endpoint, p.Cipher, p.Policy)
	e.put(session, truth(p.Cipher != ""))
	e.put(silent, silence(p.SilentSinceUnixS, time.Now()))
	collectPathCounts(e, p.Paths)
	if p.RxBytes > 0 {
		collectTraffic(e, p)
	}
}

func collectTraffic(e emitter, p *control.Peer) {
	e.count(cwnd, p.CwndBytes)
	e.count(inflight, p.BytesInFlight)
	e.count(pacing, p.RateBytesPerS)
	e.count(delivered, p.DeliveredBytesPerS)
	for limit, us := range p.WaitedUs {
		e.put(waited, float64(us)*micro, limit)
	}
	collectRoundTrips(e, p.Paths)
	e.count(messages, p.Messages.Sent)
	e.count(acked, p.Messages.Acked)
	e.count(retransmitted, p.Messages.Retransmitted)
	e.count(spurious, p.Messages.Spurious)
	e.count(copied, p.Messages.Copied)
	e.count(copiesRefused, p.Messages.CopiesRefused)
	e.count(givenUp, p.Messages.GivenUp)
	e.count(duplicates, p.Messages.Duplicates)
	e.count(heldFrames, p.Order.HeldFrames)
	e.count(reordered, p.Order.ReorderedFrames)
	e.put(held, float64(p.Order.HeldUs)*micro)
	e.count(timedOut, p.Order.ReleasedByTimeout)
	e.count(queueFrames, p.Queue.Frames)
	e.count(queueBytes, p.Queue.Bytes)
	e.count(queueMarks, p.Queue.Marks)
	for reason, n := range p.Drops {
		e.count(peerDrops, n, reason)
	}
}

// silence returns the number of seconds since the unix time `since`, or 0 if `since` is 0.
func silence(since int64, now time.Time) float64 {
	if since == 0 {
		return 0
	}
	return max(0, now.Sub(time.Unix(since, 0)).Seconds())
}

var states = []string{control.PathCandidate, control.PathActive, control.PathSuspect, control.PathDown}

func collectPathCounts(e emitter, v []control.Path) {
	n := map[string]uint64{}
	for _, p := range v {
		n[p.State]++
	}
	for _, s := range states {
		e.count(paths, n[s], s)
	}
}

// collectRoundTrips emits the round-trip times if a path is active.
func collectRoundTrips(e emitter, v []control.Path) {
	var weight, sum, queue, worst float64
	for _, p := range v {
		if p.State != control.PathActive {
			continue
		}
		w := float64(p.Weight) + 1 // all weights may be zero, for instance before the first packet
		weight += w
		sum += w * float64(p.SRTTUs)
		queue += w * float64(p.QueueUs)
		worst = max(worst, float64(p.SRTTUs))
	}
	if weight > 0 {
		e.put(rtt, sum/weight*micro)
		e.put(rttWorst, worst*micro)
		e.put(queueing, queue/weight*micro)
	}
}

// collectPaths emits the series of at most limit paths, and returns the number of paths.
func collectPaths(e emitter, v []control.Path, limit int) (n int) {
	seen := map[[2]string]bool{}
	for i := range v {
		p := &v[i]
		at := [2]string{p.From(), p.Remote}
		if n >= limit {
			return n
		}
		// A candidate and a path may have the same two addresses, but each series must be unique.
		if p.State == control.PathCandidate || seen[at] {
			continue
		}
		seen[at] = true
		n++
		collectPath(e.with(at[0], at[1]), p)
	}
	return n
}

func collectPath(e emitter, p *control.Path) {
	e.put(pathActive, truth(p.State == control.PathActive))
	e.put(pathRTT, float64(p.SRTTUs)*micro)
	e.put(pathBase, float64(p.BaseRTTUs)*micro)
	e.put(pathWeight, float64(p.Weight)/1000)
	e.put(pathMTU, float64(p.MTU))
	e.count(pathSentPackets, p.SentPackets)
	e.count(pathSentBytes, p.SentBytes)
	e.count(pathLost, p.Lost)
	e.count(pathRepairs, p.Retransmits)
}

func countPaths(st *control.Status) (n int) {
	for i := range st.Peers {
		seen := map[[2]string]bool{}
		for _, p := range st.Peers[i].Paths {
			if p.State != control.PathCandidate {
				seen[[2]string{p.From(), p.Remote}] = true
			}
		}
		n += len(seen)
	}
	return n
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
