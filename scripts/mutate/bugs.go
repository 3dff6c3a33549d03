package main

// bug is a small edit that breaks the code.
type bug struct {
	name     string
	file     string // path from the top of the source tree, with slashes
	old, new string // old occurs once in the file
}

// bugs are typical mistakes of a tired engineer: a lost line, an off-by-one bound, a reversed
// condition.
var bugs = []bug{
	// The following bugs concern keys and packet numbers.
	{"packet numbers of a slot begin anew", "srd/paths_life.go", "ours: ours, sent: p.sent, largest: p.largest,", "ours: ours,"},
	{"a packet number is not used up", "srd/internal/ledger/ledger.go", "	l.next++\n	return pn", "	if pn%500 != 499 {\n		l.next++\n	}\n	return pn"},
	{"a packet is taken again", "srd/internal/seq/seq.go", "	*r.word(w) |= 1 << (n % 64)\n	return true", "	return true"},
	{"the replay window forgets what is 64 behind", "srd/internal/seq/seq.go", "	case r.next-n > ReplaySize:\n		return false", "	case r.next-n > 64:\n		return true"},
	{"keys are used for ever", "srd/session_keys.go", "reject: age * 3 / 2,", "reject: age * 3,"},
	{"keys that expired are not replaced", "srd/session_renew.go", "	if age >= life.reject {", "	if age >= 1000*life.reject {"},
	{"keys are not renewed", "srd/session_renew.go", "if busy && (age >= after || e.sent >= life.renewPackets)", "if busy && age >= 1000*after"},
	{"replaced keys die at once", "srd/session_renew.go", "	s.prev, s.send = s.send, e\n", "	s.retire(&s.send)\n	s.send = e\n"},
	{"receiver index of old keys is not released", "srd/session_keys.go", "		v.self.release((*e).recv.local)\n", ""},
	{"crossed handshakes: both keep their own", "srd/session_renew.go", "bytes.Compare(own[:], remote[:]) < 0", "bytes.Compare(own[:], remote[:]) < 2"},
	{"crossed handshakes: one that was overtaken counts as new", "srd/session_handshake.go", "s.other, s.next, e.crossed = s.next, e, s.fresh(now)", "s.other, s.next = s.next, e"},
	{"nobody shows that it has the keys", "srd/sender.go", "!e.initiator || e.proven ||", "!e.initiator || !e.proven ||"},
	{"the responder sends under keys nobody confirmed", "srd/session_handshake.go", "		s.other, s.next, e.crossed = s.next, e, s.fresh(now)\n", "		s.next = nil\n		s.self.conn.meet(now, e.peer)\n		s.begin(now, e)\n"},
	{"an attempt outlives its response", "srd/calls.go", "	switch a {\n	case v.regular:\n		v.regular = nil\n	case v.hurried:\n		v.hurried = nil\n	}\n	v.abandon()\n", ""},
	{"a cookie is used on all paths", "srd/session_handshake.go", "s.attempt(now, []Tuple{to}, s.stamper.Token(now)", "s.attempt(now, s.targets(), s.stamper.Token(now)"},
	{"a handshake is not given up", "srd/session.go", "giveUpAttempts = 22", "giveUpAttempts = 1 << 30"},
	{"a handshake that failed is not repeated", "srd/session_renew.go", "	if s.calls.busy() && now >= s.calls.regular.end {", "	if s.calls.tries == 0 && now >= s.calls.regular.end {"},
	{"a silent session is never doubted", "srd/recovery_tail.go", "	return !rc.out.empty() && now.Sub(max(rc.lastHeard, rc.out.at(rc.out.first).first)) > deadAfter\n", "	return false\n"},

	// The following bugs concern packets from unproven senders.
	{"a cookie ends the attempt under way", "srd/session_handshake.go", "		s.calls.follow(a)\n", "		s.calls.begin(a)\n"},
	{"cookies are taken from anywhere", "srd/session_handshake.go", "(a == nil || !a.called(from)) && !answer", "a == nil && !answer"},
	{"each cookie hurries", "srd/calls.go", "	if v.regular == nil || v.regular.index != index {\n		return\n	}\n	if !v.spent {\n		v.spent, v.to = true, &from\n		if v.hurry = now.Add(hurryAfter); v.hurried != nil {\n			v.hurry = max(v.hurry, v.hurried.end)\n		}\n	}\n", "	if v.to == nil {\n		v.to, v.hurry = &from, now.Add(hurryAfter)\n	}\n"},
	{"what waits is given up although a session works", "srd/session_renew.go", "		if !s.ready(now) || now.Sub(s.lastHeard) > idleAfter {", "		if len(s.paths.table) > 0 {"},
	{"responses cost what they like", "srd/endpoint.go", "!ok {\n		return Arrival{}, reply", "!ok && a.Conn == nil {\n		return Arrival{}, reply"},
	{"a liar is met again at once", "srd/conn_session.go", "	s.liar.again(now)\n", ""},

	// The following bugs concern a restarted peer.
	{"a new process of the peer's is not noticed", "srd/conn_session.go", "	if s.met && s.incarnation != incarnation {", "	if s.met && s.incarnation != incarnation && s.incarnation == 0 {"},
	{"message numbers of a former process are remembered", "srd/conn_session.go", "	c.receiver.inbox = seq.Window{}\n", "	_ = seq.Window{}\n"},
	{"packet numbers of a former process are remembered", "srd/conn_session.go", "	c.receiver.in = nil\n", ""},
	{"messages to a former process stay", "srd/conn_session.go", "	n := c.recovery.out.reset()\n", "	n := 0\n"},
	{"the bytes in flight of a former process stay", "srd/conn_session.go", "		c.recovery.settleAll(p)\n		p.largest = 0", "		p.largest = 0"},
	{"reassembly is not cleared", "overlay/order/reassembler.go", "	g.flows = bySlot[flow]{}\n	g.account()\n}", "	g.account()\n}"},
	{"numbers begin anew after a rest", "srd/outbox.go", "	*o = outbox{first: o.first, next: o.next}\n", "	*o = outbox{}\n"},

	// The following bugs concern messages.
	{"a message is delivered again", "srd/internal/seq/seq.go", "	*p |= b\n	w.above", "	if n%512 != 0 {\n		*p |= b\n	}\n	w.above"},
	{"one message too many is acknowledged", "srd/receiver.go", "	return wire.AppendAck(b, rv.inbox.FirstMissing(), max(1,", "	return wire.AppendAck(b, rv.inbox.Highest(), max(1,"},
	{"the bitmap is read one off", "srd/recovery_ack.go", "		from := a.FirstMissing + 1 + uint64(i)*64", "		from := a.FirstMissing + uint64(i)*64"},
	{"a payload is not given back", "srd/outbox.go", "	m := o.at(n)\n	m.release(Acknowledged)\n	m.acked = true", "	m := o.at(n)\n	m.acked = true"},
	{"a payload is given back when sent", "srd/sender.go", "		n := sd.recovery.out.push(m, t.at)\n", "		n := sd.recovery.out.push(m, t.at)\n		if n%64 == 63 {\n			m.Owner.Done(Acknowledged)\n		}\n"},
	{"what was given up is kept", "srd/recovery_flight.go", "	m.release(s)\n	m.void = true\n", "	m.void = true\n"},
	{"no tombstone", "srd/recovery_flight.go", "	fl.stats.GivenUp++\n", "	fl.stats.GivenUp++\n	m.wants = false\n	fl.out.ack(fl.out.first)\n"},
	{"nothing is given up", "srd/recovery_repair.go", "	if !m.void && now.Sub(m.first) > rc.repairLimit(limit) {", "	if !m.void && now.Sub(m.first) > 1000*limit {"},
	{"all is given up at once", "srd/recovery_repair.go", "now.Sub(m.first) > rc.repairLimit(limit) {", "now.Sub(m.first) > rc.repairLimit(limit)/1000 {"},
	{"what is reliable is given up as a stream is", "srd/recovery_repair.go", "	case m.m.Class == Reliable:\n		return\n", ""},
	{"who was reset is told that it has arrived", "srd/outbox.go", "			m.release(Reset)\n", "			m.release(Acknowledged)\n"},
	{"the outbox has no limit", "srd/outbox.go", "return o.next-o.first >= OutboxLimit }", "return o.next-o.first >= 8*OutboxLimit }"},
	{"the queue of repairs loses one that grows", "srd/outbox.go", "		for i := q.head; i != q.tail; i++ {", "		for i := q.head + 1; i != q.tail; i++ {"},

	// The following bugs concern packet losses and congestion windows.
	{"what was delivered stays in flight", "srd/recovery_overdue.go", "			return k.At.Add(max(rc.lostAfter(p), p.vain))", "			return mono.Never"},
	{"bytes in flight are never taken back", "srd/recovery_flight.go", "	fl.inflight -= int(k.Size)\n	p.inflight", "	p.inflight"},
	{"the window is half as much again", "srd/sender.go", "	budget := sd.cfg.Control.Window() - sd.recovery.inflight\n", "	budget := sd.cfg.Control.Window()*3/2 - sd.recovery.inflight\n"},
	{"repairs ignore the window", "srd/recovery_repair.go", "	if q.len() == 0 || ((rc.silent() || rc.inflight >= rc.cfg.Control.Window()) && rc.timer.probes == 0) {", "	if q.len() == 0 {"},
	{"what a dead path held is not handed back", "srd/paths_state.go", "	ps.flight.loseUntil(p, mono.Never)\n	if p.state == PathActive {", "	p.lowest = p.sent.Next()\n	if p.state == PathActive {"},
	{"no path is ever suspected", "srd/recovery_overdue.go", "|| !rc.overtaken(p, k):\n		return false", "|| !rc.overtaken(p, k) || !rc.talks(now, p):\n		return false"},
	{"copies of what is late have no budget", "srd/sender_reinject.go", "			rc.copies -= copyEvery\n", ""},
	{"what is late is so after the mean", "srd/model.go", "	return p.rtt.Smoothed() + e.hosts.wait() + (lateDeviations+e.hosts.wrong)*e.noise(&p.rtt)\n", "	return p.rtt.Smoothed()\n"},
	{"acknowledgements keep to the nearest path whatever comes again", "srd/receiver.go", "		rv.ack.again = true\n", ""},
	{"who is called opens no path in silence", "srd/paths_open.go", "i < ps.firstLearned || ps.unanswered() || !ps.comes(t)", "i < ps.firstLearned || !ps.comes(t)"},
	{"a measurement asks on paths that are not open yet", "srd/paths_measure.go", "p.at != 0 || p.path.state == PathCandidate || ", "p.at != 0 || "},
	{"what is on a path is lost after one deviation", "srd/model.go", "	lostDeviations = 5\n", "	lostDeviations = 1\n"},
	{"repairs go where the message was lost", "srd/choice.go", "		if m.tried&(1<<(p.slot%64)) == 0 {", "		if m.tried&(1<<(p.slot%64)) != 0 {"},
	{"no tail probe", "srd/recovery_tail.go", "	if rc.out.empty() && rc.inflight == 0 {\n		return mono.Never", "	if rc.out.empty() || rc.inflight > 0 {\n		return mono.Never"},
	{"tail timeouts back off while nobody waits", "srd/sender.go", "			sd.recovery.timer.backoff = 0\n		}\n		n := sd.recovery.out.push", "		}\n		n := sd.recovery.out.push"},
	{"the ledger forgets what is in flight", "srd/path.go", "		case ledger.InFlight:\n			return false\n", "		case ledger.InFlight:\n			return true\n"},
	{"a lost packet's messages are forgotten", "srd/recovery_flight.go", "		if m := fl.out.at(n); m.slot == p.slot && m.pn == pn {", "		if m := fl.out.at(n); m.slot == p.slot && m.pn == pn && n > k.First {"},
	{"the pacer is in debt without end", "srd/sender.go", "	if sd.cfg.Control.Rate() > 0 && sd.bucket.Tokens() > -burstBytes {\n", "	if sd.cfg.Control.Rate() > 0 {\n"},
	// The following bugs lose a wake-up, because the deadline omits one of its reasons.
	{"lost wake-up: an acknowledgement", "srd/conn_time.go", "		add(c.receiver.ack.deadline(), \"ack\")\n", ""},
	{"lost wake-up: a path's timeout", "srd/conn_time.go", "		add(c.recovery.pathDeadline(), \"path timeout\")\n", ""},
	{"lost wake-up: the tail probe", "srd/conn_time.go", "	add(max(c.recovery.tailDeadline(), c.env.clock), \"tail probe\")\n", ""},
	{"lost wake-up: the probe of a path", "srd/conn_time.go", "	add(c.paths.probeDeadline(), \"path probe\")\n", ""},
	{"lost wake-up: a reinjection", "srd/conn_time.go", "		add(c.recovery.reinject, \"reinjection\")\n", ""},
	{"lost wake-up: a handshake's retry", "srd/session_renew.go", "	if t := s.calls.deadline(); t < at {\n", "	if t := s.calls.deadline(); t < at && s.ready(s.clock) {\n"},
	{"the pacer wakes without a session", "srd/conn_send.go", "		c.recovery.out.full() || !c.session.ready(now) || c.recovery.silent() {", "		c.recovery.out.full() || c.recovery.silent() {"},
	{"an acknowledgement waits for time and not for a path", "srd/conn_time.go", "	if c.receiver.ack.packets > 0 && c.sender.ackPath() != nil {", "	if c.receiver.ack.packets > 0 {"},
	{"acknowledgements wait for ever", "srd/receiver.go", "	return a.since.Add(a.latest)\n", "	return mono.Never\n"},

	{"losses are never told to congestion control", "srd/recovery_ack.go", "	if lost > 0 {\n		rc.cfg.Control.Lost(now, lost)\n	}", "	if lost > 0 {\n		rc.cfg.Control.Lost(now, 0)\n	}"},
	{"losses are looked for on another path than the acknowledged one", "srd/recovery_ack.go", "			rc.detectLoss(now, p)\n", "			rc.detectLoss(now, rc.paths.table[a.Record(0).Slot])\n"},
	{"a round trip is taken from a packet that was acknowledged before", "srd/recovery_ack.go", "p.sent.At(r.Highest); k != nil && k.State != ledger.Acked && !k.Delivered() && k.At", "p.sent.At(r.Highest - min(r.Highest, 8)); k != nil && k.At"},

	// The following bugs concern paths.
	{"a response that went elsewhere too proves an address", "srd/session.go", "!r.more && soleAddr(r.on).IsValid()\n", "true\n"},
	{"a candidate is a path at once", "srd/paths_candidate.go", "	case k.Proven():\n		ps.askQuiet(now)\n", "	case true:\n		ps.admit(now, k)\n"},
	{"any answer proves a candidate", "srd/internal/candidate/candidate.go", "case !k.Challenged() || k.Secret != *secret:", "case !k.Challenged():"},
	{"a candidate is never challenged", "srd/paths_candidate.go", "	if k == nil {\n		return false\n	}\n	ps.packetTo", "	if k == nil || k != nil {\n		return false\n	}\n	ps.packetTo"},
	{"a candidate's packet number is used again", "srd/paths_candidate.go", "	ps.candidatePN++\n", ""},
	{"any answer proves a path", "srd/paths_probe.go", "q.at == 0 || q.secret != *secret ||", "q.at == 0 ||"},
	{"where the response came from is believed", "srd/paths_proof.go", "	if p == nil && ps.listed(t) {\n		p = ps.openPath(now, t, true) // there was no path, because it was not needed before\n	}\n", "	if p == nil {\n		p = ps.openPath(now, t, true)\n		ps.met(now, p)\n	}\n"},
	{"a path is probed for ever", "srd/paths_probe.go", "	case now.Sub(max(ps.active, ps.lastHeard)) > idleAfter:", "	case now.Sub(max(ps.active, ps.lastHeard)) > 1000*idleAfter:"},
	{"dormant paths do not wake", "srd/paths_probe.go", "	if ps.dormant && now.Sub(max(ps.active, ps.lastHeard)) < idleAfter {", "	if ps.dormant && len(ps.table) == 0 {"},
	{"a path that answers stays down", "srd/paths_probe.go", "if q.echoes++; q.echoes < provenEchoes && !ps.usable.Empty() {", "if q.echoes++; q.echoes < 255 {"},
	{"a probe is due again at once", "srd/paths_probe.go", "q.at, q.size, q.next = now, uint16(size), now.Add(wait)", "q.at, q.size, q.next = now, uint16(size), now.Add(wait/100)"},
	{"packets are larger than the path", "srd/paths_state.go", "			size = min(size, p.mtu)\n", "			size = max(p.mtu, 1452)\n"},
	{"a path that was freed still receives", "srd/paths_state.go", "		if w != nil && w.path == p {\n			w.path = nil\n		}", "		_ = w"},

	// The following bugs concern rates, delays, the ends of bursts, and path choice.
	{"nothing bounds the window after an overflow", "srd/cc/window.go", "min(c.cubic.bound(), next)", "next"},
	{"spray picks what may not be used", "srd/steer/spray.go", "		if !usable.Has(p) {\n			continue\n		}\n		sp := &s.paths[p]\n		if sp.credit", "		sp := &s.paths[p]\n		if sp.credit"},

	// The following bugs concern senders without a session, observers, and peers that send false
	// packets.
	{"what goes to an unproven address is not charged", "srd/paths_candidate.go", "	if ps.trusts(addr) || ps.candidates.Spend(addr, n) {\n", "	if true || ps.trusts(addr) || ps.candidates.Spend(addr, n) {\n"},
	{"an unproven address has credit for ten times what came", "srd/internal/candidate/candidate.go", "	Amplification = 3\n", "	Amplification = 10\n"},
	{"half a byte of a secret is compared", "srd/internal/candidate/candidate.go", "k.Secret != *secret:", "k.Secret[0]>>4 != secret[0]>>4:"},
	{"the last bytes of a secret are not compared", "srd/internal/candidate/candidate.go", "k.Secret != *secret:", "[4]byte(k.Secret[:]) != [4]byte(secret[:]):"},
	{"a left-out number may be acknowledged", "srd/recovery_ack.go", "if r.Highest >= p.sent.Next() || p.trapped(&r) {", "if r.Highest >= p.sent.Next() {"},
	{"what was never sent may be acknowledged", "srd/recovery_ack.go", "if r.Highest >= p.sent.Next() || p.trapped(&r) {", "if p.trapped(&r) {"},
	{"messages that are acknowledged open the window", "srd/recovery_ack.go", "		if k.Left--; k.Left == 0 {\n", "		if k.Left--; k.Left == 0 {\n			rc.land(rc.paths.table[m.slot], k)\n			k.State = ledger.Acked\n"},

	// The following bugs concern frames and their order.
	{"a frame is handed on out of turn", "overlay/order/reassembler.go", "	case h.seq == fl.next && !m.Expired &&", "	case int32(h.seq-fl.next) < 2 && !m.Expired &&"},
	{"a page of places is given back while in use", "overlay/order/flow.go", "pg.some == 0 {", "pg.some&(pg.some-1) == 0 {"},
	{"memory of a frame put together is not counted out", "overlay/order/memory.go", "	g.memory -= room(f)\n	p.frame", "	p.frame"},
	{"a hole in a frame is taken for filled", "overlay/order/partial.go", "	return p.frame != nil && p.n == 1 && p.room()[0] == span{0, uint16(len(p.frame.Data))}", "	return p.frame != nil && p.n > 0 && p.room()[p.n-1].to == uint16(len(p.frame.Data))"},
	{"a gap is waited for without end", "overlay/order/hold.go", "p != nil && now >= p.since.Add(g.cfg.Hold); p = g.waits.head {", "p != nil && now >= p.since.Add(100*g.cfg.Hold); p = g.waits.head {"},
	{"a frame that was given up is kept", "overlay/order/hold.go", "	if !p.done() {\n		g.keepLate(now, p)\n		return\n	}", "	if !p.done() {\n		return\n	}"},
	{"a dropped frame's memory is not given back", "overlay/order/memory.go", "		g.detach(p).Release()\n", "		g.detach(p)\n"},
	{"the next fragment begins one byte early", "overlay/order/segmenter.go", "	c.h.offset += uint16(n)\n", "	c.h.offset += uint16(n)\n	if c.h.seq%64 == 63 && int(c.h.offset) < len(f.Data) {\n		c.h.offset--\n	}\n"},
	{"the queue swaps two frames", "overlay/queue/queue.go", "	if fl.tail != 0 {\n		q.nodes.all[fl.tail].next = n", "	if fl.tail != 0 && q.frames%64 == 63 {\n		q.nodes.all[n].next, fl.head = fl.head, n\n		n = fl.tail\n	} else if fl.tail != 0 {\n		q.nodes.all[fl.tail].next = n"},

	// The following bugs concern delays in the host and in the network.
	{"two clocks read apart are a clock that was set", "srd/loop/stamp.go", "n < readAgain && c.moved(wall, since)", "n < 0 && c.moved(wall, since)"},
	{"what the peer's host took is the network's", "srd/recovery_ack.go", "			hold := time.Duration(r.Hold) * wire.HoldUnit\n", "			hold := min(time.Duration(r.Hold)*wire.HoldUnit, rc.hosts.hold())\n"},
	{"who says that it held all back has no queue", "srd/recovery_ack.go", "g.peerDelay = max(0, min(hold, g.hosts)-rc.hosts.hold())", "g.peerDelay = 0"},
	{"chance is never learnt", "srd/cc/window.go", "if v.share = v.lost / v.packets; v.share >", "if v.lost/v.packets >"},
	{"nine packets of ten may be lost by chance", "srd/cc/window.go", "	chanceCeiling = 0.1\n", "	chanceCeiling = 0.9\n"},
	{"the window is not probed after an overflow", "srd/cc/rival.go", "v.probe = max(step,", "v.probe = min(0,"},
}
