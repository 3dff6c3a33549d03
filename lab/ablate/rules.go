package main

import "github.com/srdtun/srdtun/scripts/field"

// rule is one decision of the transport, with the edit that disables it.
type rule struct {
	name      string // in the field's words
	equation  string
	constants string
	source    string // paper, section or RFC
	off       []field.Edit
}

// returns makes an edit that lets a function return a value at once. signature is the
// function's first line, or a part of it. The rest of the function stays, so that the
// compiler accepts it.
func returns(file, signature, value string) field.Edit {
	return field.Edit{File: file, Old: signature, New: signature + "\n\tif true {\n\t\treturn " + value + "\n\t}\n"}
}

// rules lists the rules under test. A new rule needs a line here. If a rule's code has
// changed, the test of this package names the rule.
var rules = []rule{
	// These rules choose the path.
	{
		"far and near paths", "near: distance(p) <= what waits on the others", "alikeGranules 2, alikePart 8, costPart 16",
		"ECF (Lim et al., CoNEXT 2017), section 3",
		[]field.Edit{returns("srd/choice_reach.go", "func (ch *choice) distance(p *path) time.Duration {", "0")},
	},
	{
		"wait in the send buffer (ECF)", "W = waiting bytes / delivered rate; eligible while eta(p) <= min eta + W", "frontRounds 8",
		"ECF (Lim et al., CoNEXT 2017), section 3",
		[]field.Edit{returns("srd/choice_front.go", "func (f *front) note(now mono.Time, bytes int, rate float64, rtt time.Duration) {", "")},
	},
	{
		"length is a mean", "length = least RTT + what is random", "spreads 3, cc.TargetCeiling 25 ms",
		"RFC 6298 (mean and deviation)",
		[]field.Edit{{File: "srd/choice_reach.go", Old: "return p.rtt.Empty() + p.unsteady()", New: "return p.rtt.Base()"}},
	},
	{
		"far paths are pinged", "one packet in probeMost on a far path", "probeMost 1 s",
		"RFC 8684, section 3.4 (backup subflows are kept)",
		[]field.Edit{returns("srd/sender.go", "func (sd *sender) nextPing(now mono.Time, t *Train) bool {", "false")},
	},
	{
		"standing weights", "w += span*(leak*(1-w) - learn*(q-mean)/scale*w)", "learn 0.1, leak 0.002",
		"integral part of a PI controller (Hollot et al., INFOCOM 2001)",
		[]field.Edit{{File: "srd/steer/spray.go", Old: "sp.weight = max(minWeight, min(1, sp.weight))", New: "sp.weight = 1"}},
	},
	{
		"skip by queue", "share = 1/(1 + (q-mean)/max(round trip/4, 2 granules))", "halfPart 4, halfGranules 2, minWeight 1/64",
		"Shalev et al., IEEE Micro 2020, \"Multipath Load Balancing\"",
		[]field.Edit{returns("srd/steer/spray.go", "func (s *Spray) now(sp *sprayPath, now mono.Time) float32 {", "1")},
	},
	{
		"skip by loss", "a lost packet costs lossCost turns", "lossCost 2, mostDebt 16",
		"REPS (EuroSys): paths that lose are not recycled",
		[]field.Edit{returns("srd/steer/spray.go", "func (s *Spray) Loss(now mono.Time, p int) {", "")},
	},
	{
		"far paths when all near ones are late", "eligible: length <= for how long the near ones are silent", "none",
		"ECF (Lim et al., CoNEXT 2017), section 3, with what is known by now",
		[]field.Edit{returns("srd/choice.go", "func (ch *choice) eligible(now mono.Time, near *steer.Set) *steer.Set {", "near")},
	},

	// These rules are about loss and repair.
	{
		"packet threshold (FIFO)", "lost: pn + reorder < largest acknowledged of its path", "reorder: RFC 9002's kPacketThreshold",
		"RFC 9002, section 6.1.1",
		[]field.Edit{returns("srd/recovery_ack.go", "func (rc *recovery) detectLoss(now mono.Time, p *path) {", "")},
	},
	{
		"RACK over paths", "overdue: sent + mean + wait + 5 max(noise, growth/5), and something sent later has arrived elsewhere", "lostDeviations 5, growthBases 3, cc.TargetFloor 4 ms, growthPart 4",
		"RFC 8985, section 6.2; RFC 7829 (potentially failed)",
		[]field.Edit{returns("srd/recovery_overdue.go", "func (rc *recovery) overtaken(p *path, k *ledger.Packet) bool {", "false")},
	},
	{
		"tail of a train", "lost: rest of a train whose beginning arrived, after max(2 noise, mean/2)", "reorderPart 2",
		"RFC 8985, section 6.2 (same send time)",
		[]field.Edit{returns("srd/model.go", "func (e *env) tailDue(p *path, k *ledger.Packet) mono.Time {", "mono.Never")},
	},
	{
		"probe timeout", "PTO = (mean + mean of the hosts + (4 + wrong) max(min(dev, mean/4), granule, dev of the hosts)) << backoff", "ptoDeviations 4, ptoMost 200 ms",
		"RFC 9002, section 6.2",
		[]field.Edit{returns("srd/recovery_tail.go", "func (rc *recovery) tailDeadline() mono.Time {", "mono.Never")},
	},
	{
		"reinjection", "copy elsewhere when idle and late: mean + wait + 2 noise; one for 32 messages that arrived", "lateDeviations 2, copyEvery 32, copiesMost 32, copyLook 128",
		"Raiciu et al., NSDI 2012, section 4.2",
		[]field.Edit{returns("srd/sender_reinject.go", "func (sd *sender) nextReinjection(now mono.Time, t *Train) bool {", "false")},
	},
	{
		"tombstones", "a payload is void after 150 ms or 4 RTT", "giveUpStream 150 ms",
		"RFC 3758 (partial reliability)",
		[]field.Edit{returns("srd/recovery_flight.go", "func (fl *flight) giveUp(m *outMsg, s Status) {", "")},
	},
	{
		"frozen choice", "after a failure, for 10 round trips, only paths that were acknowledged since", "freezeRounds 10",
		"REPS (EuroSys 2025), section 3.3: freezing mode",
		[]field.Edit{{File: "srd/paths_state.go", Old: "ps.choice.frozen = now.Add(freezeRounds * ps.rtt.Smoothed())", New: "_ = freezeRounds"}},
	},
	{
		"timeouts learn from mistakes", "(5 + wrong) deviations; wrong: verdicts of time that proved wrong in 5 s", "mistakesMost 6, wrongLife 5 s",
		"RFC 8985, section 6.2, step 4 (reo_wnd_mult)",
		[]field.Edit{returns("srd/hosts.go", "func (h *hosts) mistaken(now mono.Time, rtt time.Duration) {", "")},
	},
	{
		"packet threshold learns from mistakes", "reorder: 2, and one more for each that had arrived", "reorderFirst 2, mistakesMost 6",
		"RFC 4653 (TCP-NCR); RFC 8985, section 6.2, step 4",
		[]field.Edit{{File: "srd/recovery_ack.go", Old: "p.reorder = min(p.reorder+1, reorderFirst+mistakesMost)", New: "_ = mistakesMost"}},
	},
	{
		"tail probes widen", "on 1 path, then 4, then 8", "probesMost 8",
		"RFC 9002, section 6.2.4 (two packets a probe)",
		[]field.Edit{returns("srd/recovery_tail.go", "func (rc *recovery) probesNow(n uint64) int {", "1")},
	},

	{
		"late hosts send trains", "where an end is a granule late: 4 packets, if they wait and the window has room", "bunchMost 4",
		"TSO deferral (Linux, tcp_tso_should_defer); RFC 9002, section 7.7",
		[]field.Edit{returns("srd/sender.go", "func (sd *sender) before(src Source) int {", "0")},
	},

	// These rules are about congestion control.
	{
		"flow-scaled target", "T + base*gain*(sqrt(ceiling/window)-1)", "goalGain 0.5, goalMost 3",
		"Swift (Kumar et al., SIGCOMM 2020), section 3.2.2",
		[]field.Edit{returns("srd/cc/goal.go", "func (c *SRD) goal() time.Duration {", "c.Target()")},
	},
	{
		"delay of nearly all bytes", "q = what all but 0.1 of the bytes waited, on a fabric", "lowShare 0.1, lowSteps 16, lowTargets 4",
		"Shalev et al., IEEE Micro 2020, \"Congestion Control\"",
		[]field.Edit{returns("srd/cc/low.go", "func (c *SRD) excess(r *round, avg, goal time.Duration) time.Duration {", "avg")},
	},
	{
		"competitive mode", "while others hold the queue up: W as CUBIC and Reno would", "heldTimes, seriesCut, seriesRounds, cubicAhead, flowsMost",
		"Copa (NSDI 2018), section 4; RFC 9438",
		[]field.Edit{returns("srd/cc/compete.go", "func (c *SRD) enter(now mono.Time) {", "")},
	},
	{
		"what is in flight is cut", "w = min(w, in flight) * 0.7 after a loss", "none",
		"RFC 5681, section 3.1 (FlightSize); RFC 7661, section 4.4.1",
		[]field.Edit{{File: "srd/cc/overflow.go", Old: "		used = flight\n", New: ""}},
	},
	{
		"what waits in the peer's host is a queue", "q += hold - 5 granules; no rival's", "holdGranules 5",
		"Swift (Kumar et al., SIGCOMM 2020), section 3.2: a window for each",
		[]field.Edit{{File: "srd/recovery_ack.go", Old: "g.held = max(0, min(hold, g.hosts)-rc.hosts.hold())", New: "g.held = 0"}},
	},
	{
		"jitter is no queue", "allowance = 6 dev - 25 ms, at most 8 bases", "scatters 6, TargetCeiling 25 ms, jitterBases 8",
		"Swift, section 3.2 (host delay apart)",
		[]field.Edit{returns("srd/cc/jitter.go", "func (c *SRD) allowance() time.Duration {", "0")},
	},
	{
		"what waits on the way back", "q = round trip - base - back; window = W * rtt / (rtt - back)", "backMost 2 TargetCeiling, doubtFor 8 s, clocksApart 1 ms",
		"RFC 6817 (LEDBAT), section 3.4: delay of one way; Zhang, Shenker and Clark, SIGCOMM 1991: two-way traffic",
		[]field.Edit{{File: "srd/receiver_way.go", Old: "if clock == 0 || p.Slot == candidateSlot {", New: "if clock != 1<<32-1 {"}},
	},
	{
		"in-flight bound after loss", "bound = 0.7 of what was in flight at a loss beyond chance; then N CUBIC(w/N)", "overflowOdds 8, heavyPackets 64",
		"RFC 9438; BBRv3, inflight_hi (draft-ietf-ccwg-bbr)",
		[]field.Edit{returns("srd/cc/srd.go", "func (c *SRD) Lost(now mono.Time, bytes int) {", "")},
	},
	{
		"quick adapt", "W = delivered rate * (base + goal) when the delay is 3 goals", "adaptTargets 3",
		"UET NSCC (quick adapt)",
		[]field.Edit{returns("srd/cc/goal.go", "func (c *SRD) adapted(r *round, held bool, span, excess, goal time.Duration) (window float64, ok bool) {", "0, false")},
	},
	{
		"base over radio is a mean", "base = mean of what is empty if that is 16 ms, else the least", "radioLeast 16 ms",
		"none: one lucky round trip makes no fabric",
		[]field.Edit{returns("srd/cc/srd.go", "func (r *round) empty() time.Duration {", "r.minBase")},
	},
	{
		"drain", "window*0.25 every 8 s", "drainEvery 8 s, drainShare 0.25",
		"BBR, ProbeRTT",
		[]field.Edit{returns("srd/cc/srd.go", "func (c *SRD) draining(now mono.Time) bool {", "false")},
	},
	{
		"room on long paths", "growth <= window*(T-q)/(rounds*srtt)", "roomRounds",
		"proportional increase (UET NSCC)",
		[]field.Edit{returns("srd/cc/overflow.go", "func (c *SRD) room(missing time.Duration) float64 {", "1e18")},
	},

	// These are parts of the rules above.
	{
		"a hardly measured path's noise", "noise <= max(dev of all, base) until nine round trips are measured", "settled 9",
		"RFC 6298, section 2: the first deviation is a guess",
		[]field.Edit{{File: "srd/model.go", Old: "if !r.Settled() && e.rtt.Settled() {", New: "if false {"}},
	},
	{
		"a hardly measured path has the queue of all", "mean = max(mean, base + Q) until nine round trips are measured", "settled 9",
		"none",
		[]field.Edit{{File: "srd/model.go", Old: "return max(p.rtt.Smoothed(), p.rtt.Base()+e.cfg.Control.Queue())", New: "return p.rtt.Smoothed()"}},
	},
	{
		"who waited for longer than others", "copy after min(late, length + Q + target + wait)", "none",
		"none",
		[]field.Edit{{File: "srd/model.go", Old: "return min(e.lateAfter(p), p.length()+e.cfg.Control.Queue()+e.cfg.Control.Target()+e.hosts.wait())", New: "return e.lateAfter(p)"}},
	},
	{
		"a queue may grow within a round trip", "growth = max(min(3 base, 4 ms), base/4)", "growthBases 3, growthPart 4",
		"none",
		[]field.Edit{{File: "srd/model.go", Old: "growth := max(min(growthBases*base, cc.TargetFloor), base/growthPart)", New: "growth := 0*(base+cc.TargetFloor+growthPart)"}},
	},
	{
		"a train has begun", "something of it, or later, has arrived; or mean/2 is long beside the noise", "none",
		"RFC 8985, section 6.2",
		[]field.Edit{returns("srd/model.go", "func (e *env) begun(p *path, pn uint64) bool {", "true")},
	},
	{
		"a tail is outlived", "what was sent after it was heard of, or nothing was", "none",
		"RFC 8985, section 6.2",
		[]field.Edit{returns("srd/recovery_overdue.go", "func (rc *recovery) outlived(p *path, k *ledger.Packet) bool {", "true")},
	},
	{
		"a path that talks has not failed", "lost, not failed, while it was heard within its slack", "none",
		"RFC 7829 (potentially failed)",
		[]field.Edit{returns("srd/recovery_overdue.go", "func (rc *recovery) talks(now mono.Time, p *path) bool {", "false")},
	},
	{
		"tail probe in spite of a trickle", "due ptoMost after the oldest message", "ptoMost 200 ms",
		"RFC 9002, section 6.2.1",
		[]field.Edit{{File: "srd/recovery_tail.go", Old: "return due.Min(oldest.Add(max(wait, ptoMost)))", New: "return due + 0*oldest"}},
	},
	{
		"silence", "after three tail probes nothing but these is sent", "silentAfter 3",
		"RFC 6298, section 5 (a timeout)",
		[]field.Edit{returns("srd/recovery_flight.go", "func (fl *flight) silent() bool {", "false")},
	},
	{
		"the mean of long ago", "the mean round trip is void after 1 s of nothing", "meanLife 1 s",
		"RFC 7661, section 4",
		[]field.Edit{{File: "srd/recovery_flight.go", Old: "fl.rtt.Age()", New: "_ = meanLife"}},
	},
	{
		"repairs go where something was heard", "a path not tried, of these one heard since it was sent", "none",
		"REPS (EuroSys 2025), section 3.3",
		[]field.Edit{{File: "srd/choice.go", Old: "if p.heard > m.first {", New: "if false {"}},
	},
	{
		"repairs go on another path", "one that this message was not tried on", "none",
		"Raiciu et al., NSDI 2012, section 4.2",
		[]field.Edit{{File: "srd/choice.go", Old: "case !fresh.Empty():\n", New: "case false:\n"}},
	},
	{
		"frozen choice is of quick paths", "heard within 1.5 round trips of sending", "cleanRTT 1.5",
		"REPS (EuroSys 2025), section 3.3",
		[]field.Edit{{File: "srd/choice.go", Old: "last <= time.Duration(cleanRTT*float64(srtt))+ch.hosts.ackMost()", New: "last <= time.Duration(1e6*cleanRTT*float64(srtt))+ch.hosts.ackMost()"}},
	},
	{
		"frozen choice of a third", "a third of all that are in time has to be clean", "cleanPart 3",
		"none",
		[]field.Edit{{File: "srd/choice.go", Old: "if cleanPart*clean.Len() >= set.Len() {", New: "if clean.Len() > 0*cleanPart {"}},
	},
	{
		"acknowledgements on the nearest path", "ack path = nearest heard lately", "none",
		"none",
		[]field.Edit{returns("srd/choice_reach.go", "func (ch *choice) nearer(p *path) *path {", "p")},
	},
	{
		"what near paths cost", "near: distance <= queue and distance met lately", "costPart 16",
		"ECF (Lim et al., CoNEXT 2017), section 3",
		[]field.Edit{returns("srd/choice_reach.go", "func (ch *choice) costs(now mono.Time, p *path, queue time.Duration) {", "")},
	},
	{
		"at what rate what waits is let out", "at least a window in a round trip, until it was measured", "none",
		"none",
		[]field.Edit{returns("srd/choice_front.go", "func (ch *choice) admitted(now mono.Time) float64 {", "ch.recovery.rate.at(now)")},
	},
	{
		"distance counts as queue", "q = queue + distance - wait in front", "none",
		"none",
		[]field.Edit{{File: "srd/recovery_ack.go", Old: "Distance: rc.choice.behind(p),", New: ""}},
	},
	{
		"a measured queue grows old", "q - age/4", "none",
		"none",
		[]field.Edit{{File: "srd/steer/spray.go", Old: "sp.queue-s.mean-now.Sub(sp.at)/4", New: "sp.queue-s.mean"}},
	},
	{
		"leak of standing weights", "w += leak*(1-w)", "leak 0.002",
		"leaky integrator",
		[]field.Edit{{File: "srd/steer/spray.go", Old: "(leak*(1-sp.weight) - learn", New: "(0*leak*(1-sp.weight) - learn"}},
	},
	{
		"what one sample teaches", "span <= 4 round trips", "mostSpan 4",
		"none",
		[]field.Edit{{File: "srd/steer/spray.go", Old: "span := float32(min(mostSpan, ", New: "span := float32(min(1, "}},
	},
	{
		"the usual round trip", "empty = least smoothed, or the mean of the first samples", "meanOf 8",
		"none",
		[]field.Edit{{File: "srd/internal/rtt/rtt.go", Old: "func (e *Estimator) Usual() time.Duration { return min(e.usual[0], e.usual[1]) }", New: "func (e *Estimator) Usual() time.Duration { return e.Base() }"}},
	},
	{
		"the mean of the first samples", "of eight, and of all but the first", "meanOf 8",
		"none",
		[]field.Edit{{File: "srd/internal/rtt/rtt.go", Old: "const meanOf = 8", New: "const meanOf = 1"}},
	},
	{
		"what is lost beside a queue is not learnt", "chance: the last 16 losses where nothing waits; beside a queue 1.5 of it, <= a tenth", "overflowScatters 3, chanceMemory 16, chanceMost 1.5",
		"RFC 5348, section 5.4 (loss intervals); RFC 8085, section 3.1",
		[]field.Edit{{File: "srd/cc/overflow.go", Old: "	case l.queued:\n", New: "	case l.queued:\n		o.chance.learn(l.packets, l.lost)\n"}},
	},
	{
		"chance does not depend on how much is sent", "learnt only below half of the way back to the window that overran something last; beyond it more than 1.5 of that is an overflow", "chanceMost 1.5",
		"none: BBR's policer detection compares rates (draft-cardwell-iccrg-bbr-congestion-control-00)",
		[]field.Edit{{File: "srd/cc/overflow.go", Old: "below:   c.over.bound == 0 || c.window < c.over.safe,", New: "below:   true,"}},
	},
	{
		"without a queue it is what arrived that is cut", "the most that arrived in a round trip, of this round and the one before; half of the flight at least", "usedPart 1/8",
		"RFC 7661, section 4.4.1 (pipeACK)",
		[]field.Edit{{File: "srd/cc/overflow.go", Old: "!c.over.queued && came <", New: "false && came <"}},
	},
	{
		"little use says little of the link", "nor if less than an eighth of the window arrived", "usedPart 1/8",
		"RFC 7661, section 4.3",
		[]field.Edit{{File: "srd/cc/overflow.go", Old: " && came >= usedPart*c.window", New: ""}},
	},
	{
		"what arrived is the most of two rounds", "came = max of two, each by round trip/span", "none",
		"RFC 7661, section 4.2 (pipeACK is a maximum)",
		[]field.Edit{{File: "srd/cc/overflow.go", Old: "came := max(r.came, r.before);", New: "came := r.came;"}},
	},
	{
		"half of what is in flight is left", "of what arrived, 1/2 in flight at least", "maxDecrease 1/2",
		"Swift, SIGCOMM 2020, section 3 (max_mdf)",
		[]field.Edit{{File: "srd/cc/overflow.go", Old: "max(maxDecrease*flight, min(left*came, window))", New: "min(left*came, window)"}},
	},
	{
		"what is taken for chance first is forgotten", "by a sixteenth with each loss", "chanceMemory 16",
		"RFC 5348, section 5.4",
		[]field.Edit{{File: "srd/cc/overflow.go", Old: "c.seen+lost\n", New: "c.seen\n"}},
	},
	{
		"what is clearly more than chance", "lost ln(lost/expected) - lost + expected > 8, since more is lost than expected", "overflowOdds 8",
		"likelihood ratio of Poisson's law; CUSUM (Page, Biometrika 1954)",
		[]field.Edit{{File: "srd/cc/overflow.go", Old: "case odds > overflowOdds:", New: "case odds > overflowOdds-overflowOdds:"}},
	},
	{
		"on a short way little is lost by chance", "one of 50 / max(x^3, tells) before it is known, beside a queue <= max(0.1 x, tells / 50); x = min(1, base / 25 ms)", "intervalFirst 50, lossTolerated 0.1, TargetCeiling 25 ms",
		"none: Ethernet loses one packet in 10^8",
		[]field.Edit{{File: "srd/cc/overflow.go", Old: "far, packet := min(1, float64(c.base)/float64(TargetCeiling)),", New: "far, packet := 1.0,"}},
	},
	{
		"beyond what overran something others have left", "where nothing waits: bound = max(bound, W + 0.25 (W - top))", "gain 0.25",
		"RFC 9438, section 4.2 (convex region)",
		[]field.Edit{{File: "srd/cc/overflow.go", Old: "if c.queue+c.back <= min(c.none(), c.Target()/2) {", New: "if false {"}},
	},
	{
		"a probe after two round trips", "of the deviation a quarter of the mean counts at most", "none",
		"RFC 8985, section 7.2",
		[]field.Edit{{File: "srd/recovery_tail.go", Old: "min(rc.rtt.Variation(), mean/ptoDeviations)", New: "rc.rtt.Variation()"}},
	},
	{
		"an outage is forgotten", "after more than a tenth was lost: bound += k/512 w in the k-th round", "burstPart 512",
		"none: BBRv3 probes inflight_hi up",
		[]field.Edit{{File: "srd/cc/overflow.go", Old: "	if c.over.burst {\n", New: "	if c.over.burst && burstPart == 0 {\n"}},
	},
	{
		"what is told of a round later", "what is lost in the first round without a queue teaches nothing", "none",
		"none",
		[]field.Edit{{File: "srd/cc/overflow.go", Old: "case was && l.lost > 0:", New: "case was && false:"}},
	},
	{
		"a lone crowd is no crowd", "outside of competition N <= w / 32 packets", "flowPackets 32",
		"Mathis et al., CCR 1997: loss of 1.5/W^2",
		[]field.Edit{{File: "srd/cc/compete.go", Old: "	if c.rival.on() {\n		return c.rival.flows\n", New: "	if c.rival.on() || flowPackets > 0 {\n		return c.rival.flows\n"}},
	},
	{
		"what is overdue together", "what is overdue within (wait - mean)/64 is lost together", "overdueTogether 64",
		"none: a train of hundreds wakes the host for each packet",
		[]field.Edit{{File: "srd/recovery_overdue.go", Old: "(after-rc.mean(p))/overdueTogether - after", New: "(after-rc.mean(p))/overdueTogether*0 - after"}},
	},
	{
		"on a fabric time goes by round trips", "CUBIC's age = max(seconds, s k / 4) in the k-th round that met the bound", "fabricRound 0.25",
		"none: by the clock what was cut is won back in thousands of round trips",
		[]field.Edit{{File: "srd/cc/compete.go", Old: "age = max(age, c.fabric()*r.met*fabricRound)", New: "_ = fabricRound"}},
	},
	{
		"a window leaves at its own rate after a drain", "pace = w/way for a round, else 5/4 of that", "none",
		"none",
		[]field.Edit{{File: "srd/cc/srd.go", Old: "max(c.saved, c.window), 0, true", New: "max(c.saved, c.window), 0, false"}},
	},
	{
		"no queue of ours is as long", "others hold it up if it is longer than T + 6 s base", "heldTimes 2, goalMost 3",
		"none",
		[]field.Edit{{File: "srd/cc/srd.go", Old: " && excess-own > c.longest(r.least) {", New: " {"}},
	},
	{
		"others' queue is no base", "base: the least of ten minutes, or of before others held the queue up", "BaseWindow 10 min",
		"RFC 6817, section 3.4.2",
		[]field.Edit{
			{File: "srd/internal/rtt/rtt.go", Old: "BaseWindow = 10 * time.Minute", New: "BaseWindow = 10 * time.Second"},
			{File: "srd/recovery_ack.go", Old: "p.rtt.Hold(now, true)", New: "p.rtt.Hold(now, false)"},
		},
	},
	{
		"the same answer is a longer way", "base = the least since the mode began: after three questions with the same q", "sameAnswers 3",
		"none: others grow and shrink",
		[]field.Edit{{File: "srd/cc/compete.go", Old: "r.same >= sameAnswers", New: "r.same >= 1<<30*sameAnswers"}},
	},
	{
		"who sees another ask asks as well", "ask at once when less than half of the longest queue is left", "joinShare 0.5",
		"BBR, ProbeRTT (flows drain at the same time)",
		[]field.Edit{returns("srd/cc/compete.go", "func (c *SRD) asks(now mono.Time) bool {", "now >= c.drain")},
	},
	{
		"one path of several is longer", "base = usual: for 10 s above base + T, and above another path's", "UsualWindow 10 s",
		"none",
		[]field.Edit{returns("srd/recovery_ack.go", "func (rc *recovery) unlike(p *path, t time.Duration) bool {", "false")},
	},
	{
		"an overflow is cut once", "what was sent before a cut may be lost for another round trip", "none",
		"RFC 9438, section 4.6; RFC 6675, section 5 (RecoveryPoint)",
		[]field.Edit{{File: "srd/cc/srd.go", Old: "if c.cut == 0 || r.from.Add(-2*(c.base+avg)) >= c.cut {", New: "{"}},
	},
	{
		"growth in a round trip beside others", "W <= 1.5 W", "cubicAhead 1.5",
		"RFC 9438, section 4.4",
		[]field.Edit{{File: "srd/cc/compete.go", Old: ", cubicAhead*c.window)", New: ", 1e6*cubicAhead*c.window)"}},
	},
	{
		"the peer is not believed after losses", "for 8 s", "doubtFor 8 s",
		"none",
		[]field.Edit{{File: "srd/cc/srd.go", Old: "c.doubt, share = now.Add(doubtFor), 0", New: "_ = doubtFor"}},
	},
	{
		"slow start waits for jitter to be known", "a queue in slow start may be jitter", "none",
		"none",
		[]field.Edit{{File: "srd/cc/srd.go", Old: "wait := c.slowStart && !c.scatter.known()", New: "wait := false && !c.scatter.known()"}},
	},
	{
		"slow start ends at half a target", "Q + back > target/2", "none",
		"HyStart (RFC 9406)",
		[]field.Edit{returns("srd/cc/srd.go", "func (c *SRD) enough() bool {", "false")},
	},
	{
		"slow start ends when much is lost", "more than a tenth of a window in a round trip", "lossTolerated 0.1",
		"BBRv2, startup",
		[]field.Edit{returns("srd/cc/srd.go", "func (c *SRD) overrun() bool {", "false")},
	},
	{
		"first window of the line", "W = 1.5 line * base", "firstProducts 1.5",
		"UET NSCC",
		[]field.Edit{{File: "srd/cc/line.go", Old: "c.window = max(InitialWindow, min(MaxWindow, firstProducts*c.line*c.near().Seconds()))", New: "c.window = InitialWindow + 0*firstProducts"}},
	},
	{
		"largest window of the line", "W <= line * (base + target)", "none",
		"UET NSCC",
		[]field.Edit{{File: "srd/cc/line.go", Old: "if c.line > 0 {\n\t\tmost", New: "if c.line < 0 {\n\t\tmost"}},
	},
	{
		"a little less than the line", "rate <= 0.9925 line", "lineShare 0.9925",
		"none",
		[]field.Edit{{File: "srd/cc/line.go", Old: "return lineShare * c.line", New: "return c.line"}},
	},
}
