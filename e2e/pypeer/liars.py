"""What a peer that the daemon knows can do that lies: it costs its own share."""
import json
import os
import struct
import time

import wire
from base import check, cpu, need, resident
from conform import through


@check("l1")
def lies_in_acknowledgements(peer, host):
    """Handshake, lie, again, for 3 s: who lied waits."""
    s = peer.open()
    end, lies = time.time() + 3.0, 0
    while time.time() < end:
        was = peer.use
        peer.call(s)
        peer.run(lambda: peer.use is not was, 0.02)
        if peer.use is not was:
            peer.send(wire.ack(1 << 40), s)
            lies += 1
    need(lies <= 12, "%d handshakes in 3 s", lies)
    return "%d handshakes" % lies


@check("c1")
def sequence_numbers_far_apart(peer, host):
    """Messages of one byte whose flow sequence leaps by 8,191: no more work than others."""
    peer.connect()
    through(peer, 3)
    began, seq = cpu(peer.pid), 0
    end = time.time() + 3.0
    while time.time() < end:
        batch = b""
        for _ in range(50):
            seq = (seq + 8191) & 0xffffffff
            batch += wire.message(peer.numbers, wire.Imm(9, seq, 0, 1, 0, 16), b"x")
            peer.numbers += 1
        peer.send(batch)
        peer.run(timeout=0.007)
    took = cpu(peer.pid) - began
    need(took < 0.5, "%.2f s of processor in 3 s", took)
    through(peer, 3)
    return "%.2f s of processor in 3 s" % took


@check("c2")
def memory_of_a_liar(peer, host):
    """Frames that wait, frames that are never finished, tombstones: bounded memory."""
    peer.connect()
    through(peer, 3)
    before = resident(peer.pid)
    kinds = (lambda s, q: (wire.Imm(s, q, 0, 10300, 0, 16), b"z"), lambda s, q: (wire.Imm(s, q, 0, 100, 0, 16), b"y" * 20),
             lambda s, q: (wire.Imm(s, q, 0, 1, 0, 16), b"x"), lambda s, q: (wire.Imm(s, q, 0, 100, 0, 16), None))
    most, began = 0, cpu(peer.pid)
    for q in range(1, 17):
        batch = b""
        for slot in range(4096):
            i, data = kinds[(q - 1) // 4](slot, 500 * q)
            batch += wire.tombstone(peer.numbers, i) if data is None else wire.message(peer.numbers, i, data)
            peer.numbers += 1
            if len(batch) > 1100:
                peer.send(batch)
                batch = b""
                if slot % 8 == 0:
                    peer.run(timeout=0.0005)
        peer.send(batch)
        peer.run(timeout=0.02)
        most = max(most, resident(peer.pid))
    need(most - before < 96 << 20, "%d MiB more", most - before >> 20)
    through(peer, 3)
    return "%d MiB more, %.1f s of processor" % (most - before >> 20, cpu(peer.pid) - began)


@check("c3")
def acknowledgements_without_records(peer, host):
    """Over 10 Mbit/s a liar acknowledges by message number alone: the link is not flooded."""
    peer.endpoint = (peer.env["thin_address"], peer.endpoint[1])
    peer.connect()
    through(peer, 3)

    def dropped():
        q = host.order(run=["tc", "-s", "-j", "qdisc", "show", "dev", peer.env["thin"]])["out"]
        return sum(d.get("drops", 0) for d in json.loads(q)), sum(d.get("packets", 0) for d in json.loads(q))

    before = dropped()
    peer.auto_ack = False
    host.blast(peer, 4900, 60000, 1100, 50)
    end = time.time() + 3.0
    while time.time() < end:
        peer.run(timeout=0.005)
        peer.send(wire.ack(max([peer.first] + [n + 1 for n in peer.above])))
    after = dropped()
    lost, sent = after[0] - before[0], after[1] - before[1]
    need(lost < 1000 or lost < 0.3 * sent, "%d packets through, %d dropped", sent, lost)
    return "%d through, %d dropped" % (sent, lost)


@check("c4")
def challenges_on_a_proven_path(peer, host):
    """300 packets of 68 challenges: no more answers than packets."""
    peer.connect()
    through(peer, 3)
    sent = 0
    for _ in range(300):
        sent += peer.send(b"".join(wire.challenge(os.urandom(16)) for _ in range(68)))[2]
        peer.run(timeout=0.001)
    peer.run(timeout=0.5)
    answers = [z for _, _, k, _, z in peer.log if k == wire.REPLY]
    need(len(answers) <= 300 and sum(answers) <= sent, "%d answers, %d bytes for %d", len(answers), sum(answers), sent)
    through(peer, 3)
    return "%d answers" % len(answers)


@check("c5")
def number_that_was_left_out(peer, host):
    """Who acknowledges a packet number that was never used has lied: the session ends."""
    peer.connect()
    through(peer, 3)
    nexts, gaps = {}, []
    real = peer.data_packet

    def watch(s, frm, data):
        slot, _, pn = struct.unpack(">HIQ", data[2:16])
        if slot in nexts and pn == nexts[slot] + 1:
            gaps.append((slot, pn - 1))
        nexts[slot] = max(nexts.get(slot, 0), pn + 1)
        real(s, frm, data)

    peer.data_packet = watch
    # A daemon leaves out a number in one of 8,192 trains of a path at least. Datagrams with pauses leave in trains of
    # one packet; without pauses a train has many, and 30,000 packets may be too few trains.
    for _ in range(5):
        host.blast(peer, 4950, 30000, 1100, 200)
        if peer.run(lambda: gaps, 6.0):
            break
    need(gaps, "no number was left out of %s", nexts)
    slot, pn = gaps[-1]
    peer.auto_answer = peer.auto_ack = False
    peer.run(timeout=0.1)
    peer.send(wire.ack(peer.first, [wire.Record(slot, 65535, pn, 0, 0)]))
    peer.run(timeout=0.5)
    need(peer.ping(3, timeout=0.5) == 0, "the session goes on")
    peer.unacked.clear()
    return "packet %d of slot %d" % (pn, slot)
