"""Plays an independent endpoint, written from docs/wire.md, against two srdperf servers: one line for each check.

    python3 programs.py ADDRESS KEY@ADDR KEY@ADDR

The second server takes tagged messages. The keys of srdperf's clients come from the server's key
(cmd/srdperf/target.go)."""
import base64
import os
import struct
import sys
import time
import traceback

import wire
from crypto import HASH
from program import ACCEPTED, COMPLETE, DENIED, GONE, GRANTED, NOT_READY, TOO_LONG, Program

PLAIN, TAGGED = "srdperf/1", "srdperf/1 over srd/msg 1"
ECHO, WANT_REGION = 1, 2
CHECKS = []


def need(ok, why, *args):
    if not ok:
        raise AssertionError(why % args)


def check(f):
    CHECKS.append((f.__name__.replace("_", "-"), f))
    return f


class World:
    def __init__(self, address, plain, tagged):
        self.address, self.servers, self.serial = address, {PLAIN: plain, TAGGED: tagged}, 0

    def client(self, protocol=PLAIN, speaks=None):
        """A client of its own, with a session."""
        key, addr = self.servers[protocol].split("@")
        host, port = addr.split(",")[0].rsplit(":", 1)
        server = base64.b64decode(key)
        private = HASH(b"srdperf client", server, struct.pack(">I", self.serial))
        self.serial += 1
        p = Program((server, host, int(port)), private, speaks or protocol, self.address)
        p.connect()
        return p


@check
def messages_are_accepted(world):
    """Of no byte, of one piece, of all that is sent unasked, and of more."""
    p = world.client()
    sent = [p.message_to(os.urandom(n)) for n in (0, 1, 1000, 8192, 8193, 60000)]
    need(p.finished(*sent) == [ACCEPTED] * 6, "verdicts %s", [r.result for r in sent])
    need([r.granted for r in sent] == [False] * 4 + [True] * 2, "grants %s", [r.granted for r in sent])
    return p


@check
def pieces_in_any_order(world):
    p = world.client()
    r = p.message_to(os.urandom(8000), reverse=True)
    need(p.finished(r) == [ACCEPTED], "verdict %s", r.result)
    return p


@check
def echoes_come_back(world):
    """Messages of the endpoint, also some that need a grant of ours."""
    p = world.client()
    for n in (0, 1, 5000, 8188, 8189, 60000):
        data = os.urandom(n)
        p.announce(1)
        need(p.finished(p.message_to(data, ECHO)) == [ACCEPTED], "not accepted")
        need(p.run(lambda: p.messages, 5), "no echo of %d bytes", n)
        need(p.messages.pop() == (None, data), "another echo of %d bytes", n)
    need(p.verdicts.count(GRANTED) == 1, "%d grants for echoes", p.verdicts.count(GRANTED))
    return p


@check
def refused_echo_comes_when_a_receive_is_posted(world):
    p = world.client()
    p.finished(p.message_to(b"later", ECHO))
    need(p.run(lambda: NOT_READY in p.verdicts, 5), "no echo")
    p.announce(1)
    need(p.run(lambda: p.messages, 5) and p.messages == [(None, b"later")], "no echo after the credit: %s", p.messages)
    return p


@check
def too_long_a_message_is_refused(world):
    p = world.client()
    r = p.message_to(bytes(70000))
    need(p.finished(r) == [TOO_LONG] and not r.granted, "verdict %s", r.result)
    return p


@check
def given_up_message_is_gone(world):
    p = world.client()
    r = p.begin(0, bytes(3000))
    p.pieces(r, 0, 1000)
    p.give_up(r, 1000)
    need(p.finished(r) == [GONE], "verdict %s", r.result)
    return p


def region(p):
    p.announce(1)
    p.finished(p.message_to(b"", WANT_REGION))
    need(p.run(lambda: p.messages, 5), "no region")
    return struct.unpack(">Q", p.messages.pop()[1])[0]


@check
def memory_is_written_and_read(world):
    p = world.client()
    key = region(p)
    for n, offset in ((0, 65536), (1, 7), (8192, 0), (8193, 100), (60000, 5000)):
        data = os.urandom(n)
        w = p.write(key, offset, data, reverse=True)
        need(p.finished(w) == [ACCEPTED], "%d bytes written: %s", n, w.result)
        r = p.read(key, offset, n)
        need(p.finished(r) == [COMPLETE] and bytes(r.data) == data, "%d bytes read: %s", n, r.result)
    return p


@check
def memory_outside_is_denied(world):
    p = world.client()
    key = region(p)
    for k, offset, n in ((key + 1, 0, 1), (key, 65536, 1), (key, 65530, 7), (key, 2**64 - 1, 2), (key, 0, 65537)):
        w, r = p.write(k, offset, bytes(n)), p.read(k, offset, n)
        need(p.finished(w, r) == [DENIED, DENIED], "%d bytes at %d: %s, %s", n, offset, w.result, r.result)
    need(p.finished(p.message_to(b"still here")) == [ACCEPTED], "the session ended")
    return p


@check
def overlapping_pieces_end_the_session(world):
    p = world.client()
    r = p.begin(0, bytes(3000))
    p.pieces(r, 0, 1000)
    p.pieces(r, 500, 1500)
    p.pieces(r, 500, 1500)
    need(p.run(lambda: p.use is None, 5), "the session goes on")
    return p


@check
def another_protocol_makes_no_session(world):
    try:
        world.client(speaks="srdperf/2")
    except wire.OtherProtocol:
        return None
    raise AssertionError("a session")


@check
def tagged_messages_are_accepted(world):
    p = world.client(TAGGED)
    sent = [p.tagged(i, os.urandom(1000)) for i in range(10)]
    sent += [p.tagged(5, os.urandom(10), ordered=(77, i, 0)) for i in (3, 0, 2, 1)]
    need(p.finished(*sent) == [ACCEPTED] * 14, "verdicts %s", [r.result for r in sent])
    return p


@check
def offers_are_read(world):
    """The endpoint reads the bytes of long tagged messages here, and says that it did."""
    p = world.client(TAGGED)
    for number, n in ((1, 0), (2, 10000), (3, 60000)):
        p.announce(1)
        need(p.finished(p.offer(9, number, os.urandom(n))) == [ACCEPTED], "not accepted")
        need(p.run(lambda: p.messages, 5), "offer of %d bytes: nothing came", n)
        need(p.messages.pop() == (number, b"\x03\x00"), "offer of %d bytes: %s", n, p.messages)
    return p


@check
def unknown_offer_is_unknown(world):
    p = world.client(TAGGED)
    p.announce(1)
    p.finished(p.message_to(b"\x04\x00", 1234))
    need(p.run(lambda: p.messages, 5) and p.messages == [(1234, b"\x03\x01")], "%s", p.messages)
    return p


def main():
    world, failed = World(*sys.argv[1:]), 0
    for name, f in CHECKS:
        began, p = time.time(), None
        try:
            p = f(world)
            line = "ok %s: %s" % (name, f.__doc__ or "")
        except AssertionError as e:
            line = "FAIL %s: %s" % (name, e)
        except Exception as e:  # a bug of ours, or a packet that is not as the page says
            line = "FAIL %s: %s: %s (%s)" % (name, type(e).__name__, e, " <- ".join(
                "%s:%d" % (t.name, t.lineno) for t in reversed(traceback.extract_tb(e.__traceback__))))
        if p:
            p.close()
        failed += line.startswith("FAIL")
        print("%s (%.1f s)" % (line.rstrip(": "), time.time() - began), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
