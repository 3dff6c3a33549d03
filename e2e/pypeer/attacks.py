"""What attackers do, each with the principle that must hold. Addresses in 10.77.0.0/16 belong to the namespace this runs
in, so packets are sent from any of them: what a host does that forges its source. Their owners never answer."""
import itertools
import mmap
import os
import signal
import socket
import struct
import time

import inner
import wire
from base import MOST, check, cpu, need, numbers_of, victim
from conform import through


# Nothing is sent to an address that has not proven itself but what it paid for.

@check("a1")
def copy_of_an_initiation(peer, host):
    """An observer sends a copy of the initiation and the first packet, first, from an address that is mute."""
    s = peer.open()
    v = victim(peer, "10.77.1.1")
    a = peer.call(s)
    v.forge(a.msg)
    need(peer.run(lambda: peer.use, 1.0), "no response")
    packet, _ = peer.seal(wire.ack(0))
    v.forge(packet)
    s.sendto(packet, peer.endpoint)
    host.blast(peer, 4900, 1000, 1100, 1000)
    peer.run(timeout=1.5)
    v.fair("response, data")
    through(peer, 3)
    return "x%.1f" % (v.got() / v.forged)


@check("a2")
def copy_and_acknowledgements(peer, host):
    """The same by a peer that lies: it acknowledges, from elsewhere, what the mute address gets."""
    s = peer.open()
    v = victim(peer, "10.77.1.2")
    a = peer.call(s)
    v.forge(a.msg)
    need(peer.run(lambda: peer.use, 1.0), "no response")
    packet, _ = peer.seal(wire.ack(0))
    v.forge(packet)
    s.sendto(packet, peer.endpoint)
    host.blast(peer, 4900, 4000, 1100, 250)
    peer.auto_ack = False
    for _ in range(150):
        peer.run(timeout=0.01)
        high = max([peer.first] + [n + 1 for n in peer.above])
        peer.send(wire.ack(high), s)
    v.fair("response, data")
    return "x%.1f" % (v.got() / v.forged)


@check("a3")
def reflection_by_challenges(peer, host):
    """Packets full of challenges, from a mute address."""
    peer.connect()
    v = victim(peer, "10.77.1.3")
    for _ in range(50):
        packet, _ = peer.seal(b"".join(wire.challenge(os.urandom(16)) for _ in range(68)))
        v.forge(packet)
        peer.run(timeout=0.01)
    peer.run(timeout=0.5)
    v.fair("responses, challenges")
    through(peer, 3)
    return "x%.2f" % (v.got() / v.forged)


@check("a4")
def ports_raced(peer, host):
    """An observer delivers 300 packets first, from 300 ports: the peer's own paths go on, and work when it has gone."""
    peer.connect()
    peer.validate(peer.open())
    through(peer, 3)
    v = victim(peer, "10.77.1.4", ports=300)
    own = peer.socks[:2]
    for k in range(300):
        (m,) = peer.cut(inner.echo(peer.inner, peer.there, 6, k), slot=2)
        packet, _ = peer.seal(wire.message(*m), k % 2)
        v.forge(packet, k)
        own[k % 2].sendto(packet, peer.endpoint)
        peer.run(timeout=0.008)
    v.fair("challenges, data")
    began = time.time()
    through(peer, 5, timeout=1.0)
    states = [p for q in host.show()["peers"] if q["name"] == peer.name for p in q["paths"]]
    need(len(states) <= 64, "%d paths, most of them strangers", len(states))
    return "an answer after %.0f ms" % (1000 * (time.time() - began))


@check("a5")
def ports_of_one_address(peer, host):
    """A fifth of the packets come first from one of four ports of a mute address: few challenges to all of them."""
    peer.connect()
    through(peer, 3)
    v = victim(peer, "10.77.1.5", ports=4)
    before = 0
    for k in range(300):
        (m,) = peer.cut(inner.echo(peer.inner, peer.there, 6, k, 1000), slot=2)
        packet, _ = peer.seal(wire.message(*m))
        if k % 5 == 0:
            v.forge(packet, k // 5)
        peer.main().sendto(packet, peer.endpoint)
        peer.run(timeout=0.01)
    v.fair("challenges")
    need(v.got() <= 12 * 1200, "%d bytes of challenges to one address in 3 s", v.got())
    through(peer, 3, timeout=1.0)


@check("a6")
def acknowledgements_to_a_mute_address(peer, host):
    """Small packets that ask for acknowledgements, from a mute address."""
    peer.connect()
    through(peer, 3)
    v = victim(peer, "10.77.1.6")
    for _ in range(100):
        packet, _ = peer.seal(bytes([wire.PING]))
        v.forge(packet)
        peer.run(timeout=0.005)
    peer.run(timeout=0.3)
    v.fair("acknowledgements, challenges")
    through(peer, 3)


@check("a7")
def keepalive_from_a_new_port(peer, host):
    """A NAT gives a new port; one packet of 49 bytes from there is enough to move the peer."""
    peer.connect()
    through(peer, 5)
    old = peer.main()
    new = peer.open()
    peer.mute = {old}
    peer.run(timeout=0.2)
    peer.send(wire.challenge(os.urandom(16)), new, 49)
    need(peer.run(lambda: peer.heard(wire.REPLY, new), 1.0), "the keepalive was not answered")
    need(peer.run(lambda: peer.heard(wire.CHALLENGE, new), 1.0), "the new port was not challenged")
    began = time.time()
    host.blast(peer, 4800, 20, 200, 50_000)
    need(peer.run(lambda: len(numbers_of(peer, 4800)) >= 15, 3.0), "%d of 20 datagrams to the new port", len(numbers_of(peer, 4800)))
    return "%d of 20 within %.1f s" % (len(numbers_of(peer, 4800)), time.time() - began)


# An unauthenticated packet never changes the state of a handshake or of a session.

def under_false_cookies(peer, host, source):
    """Answers the daemon's initiations after 40 ms; false cookies are there first."""
    peer.auto_answer = False
    peer.open(port=peer.env["peers"][peer.name]["port"])
    evil = peer.open(source) if source else None
    for s in peer.socks:
        peer.rx[s] = 0
    host.blast(peer, 1, 160, 64, 50_000)
    due, lured, calls = [], 0, 0
    end = time.time() + 8
    while time.time() < end and not peer.use:
        peer.run(lambda: peer.calls, 0.01)
        for s, frm, msg in peer.calls:
            calls += 1
            lured += s is evil
            lie = wire.false_cookie(struct.unpack(">I", msg[4:8])[0], peer.static.public, msg[-32:-16], os.urandom(16))
            (evil or s).sendto(lie, frm)
            if s is not evil:
                due.append((time.time() + 0.04, s, frm, msg))
        peer.calls = []
        for d in [d for d in due if d[0] <= time.time()]:
            due.remove(d)
            peer.answer(*d[1:])
    need(peer.use is not None, "no session after %d initiations, %d of them to the attacker", calls, lured)
    return calls, lured


@check("b1")
def false_cookies_from_elsewhere(peer, host):
    """Each initiation is answered first by a false cookie from an address that was not called."""
    calls, lured = under_false_cookies(peer, host, "10.77.2.1")
    need(lured == 0, "%d of %d initiations went to the attacker", lured, calls)
    peer.acknowledge()
    through(peer, 3)
    return "a session after %d initiations" % calls


@check("b2")
def false_cookies_from_the_peers_address(peer, host):
    """The same, with the peer's own address forged."""
    calls, _ = under_false_cookies(peer, host, None)
    peer.acknowledge()
    through(peer, 3)
    return "a session after %d initiations" % calls


@check("b3")
def bogus_responses(peer, host):
    """Responses with a right mac1 and nothing in them, 10,000 a second: a part of one core, and the true one is taken."""
    peer.auto_answer = False
    peer.open(port=peer.env["peers"][peer.name]["port"])
    evil = peer.open("10.77.2.3")
    host.blast(peer, 1, 100, 64, 50_000)
    need(peer.run(lambda: peer.calls, 6.0), "the daemon did not call")
    s, frm, msg = peer.calls[-1]
    index = struct.unpack(">I", msg[4:8])[0]
    began, since, sent = cpu(peer.pid), time.time(), 0
    while time.time() < since + 2.0:
        for _ in range(50):
            body = struct.pack(">B3xII", wire.RESPONSE, sent, index) + os.urandom(69)
            evil.sendto(wire.stamp(body, peer.daemon), frm)
            sent += 1
        peer.run(timeout=0.003)
        if peer.calls[-1][2] != msg:  # the next attempt
            s, frm, msg = peer.calls[-1]
            index = struct.unpack(">I", msg[4:8])[0]
    share = (cpu(peer.pid) - began) / (time.time() - since)
    peer.auto_answer = True
    peer.answer(*peer.calls[-1])
    need(peer.run(lambda: peer.use, 8.0), "the true response was not taken")
    peer.acknowledge()
    through(peer, 3)
    need(share < 0.35, "%.0f %% of a core for %d responses", 100 * share, sent)
    return "%.0f %% of a core for %d responses" % (100 * share, sent)


class Flood:
    """A process that sends initiations with a right mac1, as many as it can, until it is stopped."""

    def __init__(self, peer, host, addresses):
        self.host = host
        self.count = mmap.mmap(-1, 8)  # shared with the process
        packets = []
        for k in range(4000):
            body = struct.pack(">B3xI", wire.INITIATION, k) + os.urandom(141)
            packets.append(wire.stamp(body, peer.daemon))
        socks = []
        for a in addresses:
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind((a, 0))
            socks.append(s)
        self.before = self.counted()
        parent = os.getpid()
        self.child = os.fork()
        if self.child:
            for s in socks:
                s.close()
            return
        try:
            for k in itertools.count():
                socks[k % len(socks)].sendto(packets[k % len(packets)], peer.endpoint)
                self.count[:] = struct.pack("=Q", k + 1)
                if k % 64 == 63:
                    if os.getppid() != parent:
                        break
                    time.sleep(0.001)  # some 40,000 a second: what is left of two cores is the daemon's
        finally:
            os._exit(1)

    def counted(self):
        """Initiations that the daemon has counted as refused: those that its filter passed."""
        drops = self.host.show()["drops"]
        return sum(drops.get(k, 0) for k in ("handshake_under_load", "undecryptable_initiation"))

    def sent(self):
        return struct.unpack("=Q", self.count[:])[0]

    def passed(self):
        return self.counted() - self.before

    def share(self, began):
        """Of how many initiations one passed since began, which is (sent, passed)."""
        return (self.sent() - began[0]) / max(1, self.passed() - began[1])

    def stop(self):
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)


FLOODED = 4000  # initiations in a second, above which the daemon's filter thins them out
UNLUCKY = 20    # copies for each that should pass: all miss once in e^20 runs
MANY = 1000     # copies, of which some pass in any flood that this machine can send


@check("b4")
def flood_of_initiations(peer, host):
    """Initiations by the ten thousand: a living peer renews its keys, and its tunnel goes on."""
    peer.connect()
    through(peer, 3)
    flood = Flood(peer, host, ["10.77.3.%d" % i for i in range(1, 65)])
    try:
        # The machine may be busy, so numbers of packets count and no times.
        need(peer.run(lambda: flood.sent() > 4 * FLOODED and flood.passed() > FLOODED, MOST), "no flood: %d of %d", flood.passed(), flood.sent())
        answered = peer.ping(20, timeout=1.0)
        # As each peer does that has paths: copies on eight of them. Each draws whether the filter passes it.
        on = [peer.main()] + [peer.open() for _ in range(7)]
        began = flood.sent(), flood.passed()
        before, copies = peer.use, 0
        while not peer.cookies and peer.use is before:
            share = flood.share(began)
            need(copies < min(UNLUCKY * max(share, 1), MANY), "no answer to %d copies, while the filter passes one in %.0f of all", copies, share)
            peer.call(on=on)
            copies += len(on)
            peer.run(lambda: peer.cookies or peer.use is not before, 0.25)
        if peer.use is before:  # with a cookie each passes
            peer.call(on=on)
            need(peer.run(lambda: peer.use is not before, MOST), "no session with a cookie")
        peer.acknowledge()
        share = flood.share(began)
    finally:
        flood.stop()
    through(peer, 3)
    need(answered >= 15, "%d of 20 echoes during the flood", answered)
    return "new keys after %d copies, while one in %.0f initiations passed" % (copies, share)


@check("b5")
def response_again(peer, host):
    """One response twenty times, from several ports: one session."""
    peer.auto_answer = False
    peer.open(port=peer.env["peers"][peer.name]["port"])
    host.blast(peer, 1, 100, 64, 50_000)
    need(peer.run(lambda: peer.calls, 6.0), "the daemon did not call")
    peer.auto_answer = True
    _, response, session = peer.answer(*peer.calls[-1])
    frm = peer.calls[-1][1]
    others = [peer.open() for _ in range(3)]
    for k in range(20):
        others[k % 3].sendto(response, frm)
    need(peer.run(lambda: peer.use, 3.0), "no session")
    peer.acknowledge()
    through(peer, 5)
    need(peer.use is session, "another session")
