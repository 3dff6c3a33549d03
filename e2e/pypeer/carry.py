"""Data both ways: frames of one and several messages, acknowledgement, repair."""
import random

import inner
import wire
from base import arrivals, check, need, numbers_of
from conform import through


@check("p3")
def frames_of_several_messages(peer, host):
    peer.connect()
    ident = 5
    for n, (space, reverse) in enumerate(((700, False), (333, True), (1100, True))):
        peer.post(peer.cut(inner.echo(peer.inner, peer.there, ident, n, 5000), slot=3, space=space), reverse=reverse)
    peer.run(lambda: len(peer.got) >= 3, 3.0)
    got = [inner.is_echo_reply(p, ident) for _, p in peer.got]
    need(got == [0, 1, 2], "echoes %s of 5,000 bytes, want them in order", got)
    need(any(i.length > 5000 for i, _ in peer.got), "the answer was not one frame")


@check("p3")
def udp_datagram(peer, host):
    peer.connect()
    data = b"a datagram of a stranger to Go"
    peer.post(peer.cut(inner.udp(peer.inner, peer.there, 4000, 9000, data), slot=4, flags=0))
    peer.run(lambda: peer.got, 2.0)
    need(peer.got, "no answer")
    i, p = peer.got[0]
    need(inner.udp_parts(p, bool(i.flags & 8)) == (9000, 4000, data), "another answer")


@check("p3")
def super_frame(peer, host):
    """Ten datagrams as one frame, with the checksum left to the receiver."""
    peer.connect()
    data = b"".join(i.to_bytes(4, "big") + bytes(596) for i in range(10))
    peer.post(peer.cut(inner.udp(peer.inner, peer.there, 4001, 9000, data, partial=True), slot=5, flags=3 | 8 | 16, segment=600))
    peer.run(lambda: len(numbers_of(peer, 4001)) == 10, 2.0)
    need(numbers_of(peer, 4001) == list(range(10)), "datagrams %s", numbers_of(peer, 4001))


@check("p3")
def foreign_source_is_refused(peer, host):
    peer.connect()
    foreign = peer.env["peers"]["p1"]["inner"]
    peer.post(peer.cut(inner.echo(foreign, peer.there, 9, 0), slot=1))
    through(peer, 2)
    drops = host.show()
    need("source_not_allowed" in str(drops), "not counted")


@check("p4")
def acknowledgement(peer, host):
    """Messages are acknowledged, with a record of the packet that brought them."""
    peer.connect()
    through(peer, 20)
    need(peer.run(lambda: not peer.unacked, 1.0), "%d messages not acknowledged", len(peer.unacked))
    records = [r for first, rs, _ in peer.heard(wire.ACK) for r in rs]
    need(any(r.slot == 0 and r.highest < peer.pn[0] for r in records), "no record of our slot")


@check("p4")
def unordered_arrival_is_acknowledged_by_words(peer, host):
    peer.connect()
    ms = [m for n in range(6) for m in peer.cut(inner.echo(peer.inner, peer.there, 3, n), slot=2)]
    for m in ms[1:]:
        peer.send(wire.message(*m))
    peer.run(timeout=0.3)
    first, _, words = peer.heard(wire.ACK)[-1]
    need(first == ms[0][0] and words and words[0] & 0x1f == 0x1f, "first missing %d, words %s", first, words)
    peer.send(wire.message(*ms[0]))
    need(peer.run(lambda: len(peer.got) == 6, 2.0), "%d of 6 echoes", len(peer.got))


@check("p5")
def repair_by_the_daemon(peer, host):
    """We lose a fifth of its packets: nearly all datagrams come, once each, in order."""
    peer.connect()
    dice = random.Random(1)
    through(peer, 2)
    peer.got = []
    peer.lose = lambda data: data[0] == wire.DATA and len(data) > 500 and dice.random() < 0.2
    host.blast(peer, 4500, 300, 700, 1000)
    got = arrivals(peer, 4500, 300)
    # Without repair it would be 240; some are lost again and again until they are too old.
    need(len(got) >= 285 and got == sorted(set(got)), "%d of 300, %s: sent %s, %s", len(got),
         "in order" if got == sorted(got) else "not in order", host.blasts()[-1], host.account(peer)[1])


@check("p5")
def repair_by_us(peer, host):
    """A quarter of ours never leave: sent again, all are answered once."""
    peer.connect()
    dice = random.Random(2)
    ident = 11
    for n in range(100):
        peer.post(peer.cut(inner.echo(peer.inner, peer.there, ident, n), slot=2), lose=lambda _: dice.random() < 0.25)
    peer.run(lambda: len(peer.got) >= 100, 4.0)
    got = [inner.is_echo_reply(p, ident) for _, p in peer.got]
    need(sorted(got) == list(range(100)), "%d of 100 echoes", len(set(got)))
    need(peer.resent > 10, "nothing was repeated")


@check("p5")
def tombstone(peer, host):
    """A message that is never acknowledged is given up: its number comes as a tombstone."""
    peer.connect()
    through(peer, 3)
    doomed = peer.first + 3
    met = []

    def refuse(kind, v):
        """Packets with that message are lost on their way to us."""
        if kind == wire.MESSAGE and wire.expand(v[0], peer.first) == doomed:
            met.append(v[1])
            return True
        return False

    peer.refuse = refuse
    host.blast(peer, 4600, 100, 300, 20_000)
    need(peer.run(lambda: peer.tombs, 5.0), "no tombstone; the message came %d times", len(met))
    need(peer.tombs[0] == (doomed, met[0]), "tombstone %s, want %d %s", peer.tombs[0], doomed, met[0])
    got = arrivals(peer, 4600, 99)
    need(len(got) == 99, "%d datagrams, want all others: sent %s, %s", len(got), host.blasts()[-1], host.account(peer)[1])
    return "a message lost %d times is given up" % len(met)
