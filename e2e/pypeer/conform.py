"""Checks that docs/wire.md says enough: each is one thing two peers do with each other."""
import os
import struct
import time

import inner
import wire
from base import blast_arrives, check, need
from crypto import AES128, AES256, CHACHA


def through(peer, count=5, **how):
    got = peer.ping(count, **how)
    need(got == count, "%d of %d echoes through the tunnel", got, count)


@check("p1")
def initiator_aes_256_gcm(peer, host):
    peer.offers = wire.BIT[AES256]
    need(peer.connect().cipher == AES256, "another cipher")
    through(peer)


@check("p1")
def initiator_chacha20_poly1305(peer, host):
    peer.offers = wire.BIT[CHACHA]
    need(peer.connect().cipher == CHACHA, "another cipher")
    through(peer)


@check("q1")
def initiator_aes_128_gcm(peer, host):
    need(peer.connect().cipher == AES128, "another cipher")
    through(peer)


@check("p1")
def best_cipher_is_chosen(peer, host):
    need(peer.connect().cipher == AES256, "AES-256-GCM is offered by both and comes first")


@check("psk")
def preshared_key(peer, host):
    peer.connect()
    through(peer)


@check("psk")
def wrong_preshared_key(peer, host):
    peer.psk = os.urandom(32)
    try:
        peer.connect(timeout=0.8)
    except Exception:
        return
    raise AssertionError("a session without the key")


@check("p1")
def wrong_mac1(peer, host):
    a = wire.Initiator(peer.static, peer.daemon, peer.psk, 7, 1, 7)
    s = peer.main()
    s.sendto(a.msg[:-32] + os.urandom(16) + bytes(16), peer.endpoint)
    peer.run(timeout=0.3)
    need(peer.rx[s] == 0, "an answer to a wrong mac1")


@check("r1")
def responder(peer, host):
    """The daemon calls, with either cipher: it sends under the keys once ours have opened."""
    for c, offers in ((AES256, 1), (CHACHA, 2)):
        called(peer, host, offers)
        need(peer.use.cipher == c, "another cipher")
        through(peer)
        peer.send(bytes([wire.CLOSE, 0]))
        peer.use = None


def called(peer, host, offers=7, timeout=8.0):
    """Waits for an initiation of the daemon's, caused by traffic, and answers."""
    peer.offers = offers
    if not peer.socks:
        peer.open(port=peer.env["peers"][peer.name]["port"])
    host.blast(peer, 1, 40, 64, 100_000)
    need(peer.run(lambda: peer.use is not None, timeout), "the daemon did not call, or did not use the keys")
    need(not peer.use.initiator, "another session")
    peer.acknowledge()


@check("r2")
def copies_get_one_response(peer, host):
    """One initiation on four paths: the same response on each."""
    socks = [peer.open() for _ in range(4)]
    a = peer.call(on=socks)
    seen = []
    peer.lose = lambda data: seen.append(data) or True
    peer.run(lambda: len(seen) >= 4, 1.0)
    responses = [d for d in seen if d[0] == wire.RESPONSE]
    need(len(responses) == 4 and len(set(responses)) == 1, "%d responses, %d different", len(responses), len(set(responses)))
    peer.lose = lambda data: False
    peer.use = a.finish(responses[0])
    peer.sessions[peer.use.local] = peer.use
    peer.acknowledge()
    through(peer)


@check("p2")
def initiation_again_is_no_second_session(peer, host):
    peer.connect()
    through(peer, 2)
    a = peer.call()
    peer.run(lambda: a.index not in peer.attempts, 1.0)
    peer.acknowledge()
    through(peer, 2)
    for _ in range(3):
        peer.main().sendto(a.msg, peer.endpoint)  # played again, when the session is in use
    before = peer.answers
    through(peer, 3)
    need(peer.answers == before, "a second session of one initiation")


@check("p2")
def data_packet_again_is_dropped(peer, host):
    peer.connect()
    ident = 77
    (m,) = peer.cut(inner.echo(peer.inner, peer.there, ident, 1), slot=2)
    packet, _ = peer.seal(wire.message(*m))
    for _ in range(5):
        peer.main().sendto(packet, peer.endpoint)
    peer.run(timeout=0.4)
    need(sum(inner.is_echo_reply(p, ident) == 1 for _, p in peer.got) == 1, "%d answers to one echo", len(peer.got))
    # The same message in new packets is one message too.
    for _ in range(3):
        peer.send(wire.message(*m))
    peer.run(timeout=0.3)
    need(len(peer.got) == 1, "a message that is sent again is taken again")


@check("p6")
def validation_both_ways(peer, host):
    """Challenges from four ports are answered; the daemon challenges each, then sends there too."""
    peer.connect()
    for _ in range(3):
        peer.validate(peer.open())
    through(peer, 2)
    need(peer.run(lambda: all(peer.heard(wire.CHALLENGE, s) for s in peer.socks[1:]), 2.0), "not every port was challenged")
    blast_arrives(peer, host, 4700, count=400, size=900, gap=500, want=395)
    need(all(peer.heard(wire.MESSAGE, s) for s in peer.socks), "data does not use every path")


@check("p6")
def responses_are_padded_only_without_a_path(peer, host):
    """A new source gets the size of its challenge, with a challenge inside; a path gets a small packet."""
    peer.auto_reply = False
    peer.connect()
    for size in (49, 600, 1200, 1400):
        for s in (peer.main(), peer.open()):
            secret = os.urandom(16)
            peer.send(wire.challenge(secret), s, pad=size)
            peer.run(lambda: secret in peer.heard(wire.REPLY), 1.0)
            got = [(t, z) for t, _, k, v, z in peer.log if k == wire.REPLY and v == secret]
            least, most = (49, 100) if s is peer.main() else (max(size, 66), max(size, 66))
            need(len(got) == 1 and least <= got[0][1] <= most, "a challenge of %d bytes was answered with %s", size, got)
            with_it = any(t == got[0][0] and o is s and k == wire.CHALLENGE for t, o, k, _, _ in peer.log)
            need(with_it or s is peer.main(), "the response to a new source has no challenge")


@check("p6")
def secrets_do_not_repeat(peer, host):
    peer.connect()
    for _ in range(6):
        peer.validate(peer.open())
    peer.run(timeout=0.3)
    secrets = peer.heard(wire.CHALLENGE)
    need(len(secrets) >= 7 and len(set(secrets)) == len(secrets), "%d secrets, %d different", len(secrets), len(set(secrets)))
    ones = sum(bin(b).count("1") for s in secrets for b in s) / (128.0 * len(secrets))
    need(0.4 < ones < 0.6, "%.2f of the bits are set", ones)


@check("p7")
def rekey(peer, host):
    """A second handshake under way: packets go on, old keys open for a while, numbers count on."""
    old = peer.connect()
    through(peer, 3)
    before = peer.pn[0]
    peer.connect()
    need(peer.use is not old and peer.pn[0] > before, "no new session")
    through(peer, 5)
    (m,) = peer.cut(inner.echo(peer.inner, peer.there, 8, 1), slot=2)
    peer.send(wire.message(*m), session=old)
    need(peer.run(lambda: any(inner.is_echo_reply(p, 8) == 1 for _, p in peer.got), 1.0), "old keys do not open for 5 s")


@check("r3")
def crossing_handshakes(peer, host):
    """Both begin at once: both keep the session that the smaller public key began."""
    peer.auto_answer = False
    peer.open(port=peer.env["peers"][peer.name]["port"])
    host.blast(peer, 1, 100, 64, 100_000)
    for _ in range(5):
        peer.calls = []
        need(peer.run(lambda: peer.calls, 8.0), "the daemon did not call")
        began, a, answer = time.time(), peer.call(), []
        peer.lose = lambda data: data[0] == wire.RESPONSE and (answer.append(data) or True)
        peer.run(lambda: answer, 1.0)
        need(answer, "our initiation was not answered")
        if time.time() - began < 0.1:  # else its attempt may be over before we answer
            break
    peer.lose = lambda data: False
    s, frm, msg = peer.calls[-1]
    peer.auto_answer = True
    used, real = [], peer.data_packet
    peer.data_packet = lambda s, f, d: (used.append(struct.unpack(">I", d[4:8])[0]), real(s, f, d))
    mine = a.finish(answer[0])
    _, _, theirs = peer.answer(s, frm, msg)
    # Were a packet under the other keys there first, the daemon would end its own attempt.
    need(peer.run(lambda: theirs.local in used, 1.0), "the daemon does not use the session that it began")
    peer.sessions[mine.local] = mine
    keep = peer.use = mine if peer.static.public < peer.daemon else theirs
    for k in (mine, theirs):
        peer.send(wire.ack(0), session=k)
    peer.run(timeout=0.3)
    peer.use = keep
    used.clear()
    through(peer, 5)
    need(set(used[-5:]) == {keep.local}, "the daemon sends under the other session")


@check("p8")
def cookie_for_a_clock_that_is_behind(peer, host):
    """A stale timestamp gets a cookie; with the token it passes without a clock."""
    peer.connect()
    through(peer, 2)
    peer.call(timestamp=1000.0)
    need(peer.run(lambda: peer.cookies > 0, 1.0), "no cookie")
    before = peer.answers
    peer.call(timestamp=1000.0, token=True)
    need(peer.run(lambda: peer.answers > before, 1.0), "the token was not taken")
    peer.acknowledge()
    through(peer, 3)


@check("p8")
def cookie_under_load(peer, host):
    """With 400 initiations in a moment a cookie is asked for; with mac2 there is a session."""
    flood = peer.open()
    # All but MACs is noise: what opens none costs a stranger nothing.
    for k in range(400):
        body = struct.pack(">B3xI", wire.INITIATION, k) + os.urandom(141)
        flood.sendto(wire.stamp(body, peer.daemon), peer.endpoint)
    # Replies are drawn by lot, by initiation, of which about 1 in 30 gets none here: it is repeated, as any is.
    calls = 0
    while not (peer.cookies or peer.use):
        need(calls < 4, "neither cookie nor session after %d initiations", calls)
        peer.call()
        peer.run(lambda: peer.cookies > 0 or peer.use, 0.25)
        calls += 1
    if peer.use is None:
        for k in range(200):
            body = struct.pack(">B3xI", wire.INITIATION, k) + os.urandom(141)
            flood.sendto(wire.stamp(body, peer.daemon), peer.endpoint)
        peer.call()
        need(peer.run(lambda: peer.use is not None, 1.5), "mac2 did not help")
    peer.acknowledge()
    through(peer, 3)


@check("p9")
def new_incarnation(peer, host):
    """The peer comes back as another process: all numbers begin at 0, and the tunnel goes on."""
    peer.connect()
    through(peer, 10)
    peer.incarnation += 1
    peer.pn.clear()
    peer.fresh_state()
    peer.connect()
    through(peer, 5)
    need(peer.first <= 20, "message numbers of the daemon went on: %d", peer.first)


@check("p9")
def close(peer, host):
    peer.connect()
    through(peer, 2)
    peer.send(bytes([wire.CLOSE, 0]))
    old, peer.got = peer.use, []
    peer.post(peer.cut(inner.echo(peer.inner, peer.there, 1, 0), slot=1), on=[peer.main()])
    peer.run(timeout=0.3)
    need(not peer.got and peer.use is old, "keys that were closed still work")
    peer.unacked.clear()
    peer.incarnation += 1
    peer.fresh_state()
    peer.pn.clear()
    peer.connect()
    through(peer, 2)


@check("p10")
def malformed_frames(peer, host):
    """What is cut short or unknown ends its packet, and nothing else."""
    peer.connect()
    (m,) = peer.cut(inner.echo(peer.inner, peer.there, 4, 0), slot=1)
    good = wire.message(*m)
    peer.send(good + bytes([0x7f]) + os.urandom(50))
    for bad in (bytes([1, 0xff]), bytes([2, 255, 255]) + bytes(12), bytes([3]) + bytes(5), bytes([7, 0]), bytes([8]), bytes([9, 0])):
        peer.send(bad)
    need(peer.run(lambda: any(inner.is_echo_reply(p, 4) == 0 for _, p in peer.got), 1.0), "the frame before was lost")
    through(peer, 3)
