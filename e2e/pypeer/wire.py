"""Packets and frames of docs/wire.md."""
import os
import struct
import time
from collections import namedtuple

from crypto import AES128, AES256, CHACHA, HASH, MAC, PREFERENCE, DataKey, Key, Noise, cookie_open, split

INITIATION, RESPONSE, COOKIE, DATA = 0x21, 0x22, 0x23, 0x24
SIZE = {INITIATION: 181, RESPONSE: 113, COOKIE: 64}
BIT = {AES256: 1, CHACHA: 2, AES128: 4}
PAD, MESSAGE, ACK, CHALLENGE, REPLY, CLOSE, PING, TOMBSTONE, STAMP, METRIC = range(10)

Session = namedtuple("Session", "local remote send recv cipher initiator incarnation born")


def tai64n(t):
    return struct.pack(">QI", 2**62 + 10 + int(t), int(t % 1 * 1e9))


def stamp(msg, receiver, cookie=None):
    """Adds the two MACs."""
    msg += MAC(HASH(b"srdtun mac1", receiver), msg)
    return msg + (MAC(cookie, msg) if cookie else bytes(16))


def mac1_ok(msg, own):
    return MAC(HASH(b"srdtun mac1", own), msg[:-32]) == msg[-32:-16]


def token_of(cookie, ephemeral):
    return MAC(MAC(cookie, b"srdtun token"), ephemeral)


class OtherProtocol(Exception):
    """The responder speaks another protocol above the transport."""


class Initiator:
    """One attempt: what goes out, and at most one session."""

    def __init__(self, static, remote, psk, index, incarnation, offers, cookie=None, token=False, timestamp=None, protocol=0):
        self.static, self.remote, self.psk, self.index, self.offers, self.protocol = static, remote, psk, index, offers, protocol
        self.e = Key()
        header = struct.pack(">B3xI", INITIATION, index)
        n = self.noise = Noise(header, remote)
        n.mixhash(self.e.public)
        n.mixkey(self.e.public)
        n.mixkey(self.e.dh(remote))
        s = n.seal(static.public)
        n.mixkey(static.dh(remote))
        when = bytes(12) if token else tai64n(timestamp if timestamp is not None else time.time())
        proof = token_of(cookie, self.e.public) if token else bytes(16)
        hello = n.seal(when + proof + struct.pack(">QBI4x", incarnation, offers, protocol))
        self.msg = stamp(header + self.e.public + s + hello, remote, cookie)
        self.mac1 = self.msg[-32:-16]

    def finish(self, msg):
        """The session, from a response; an exception leaves the attempt as it was."""
        kind, sender, receiver = struct.unpack(">B3xII", msg[:12])
        if kind != RESPONSE or len(msg) != 113 or receiver != self.index or not mac1_ok(msg, self.static.public):
            raise ValueError("no response to this attempt")
        n = Noise.__new__(Noise)
        n.h, n.ck, n.k = self.noise.h, self.noise.ck, self.noise.k
        e = msg[12:44]
        n.mixhash(e)
        n.mixkey(e)
        n.mixkey(self.e.dh(e))
        n.mixkey(self.static.dh(e))
        n.mixpsk(self.psk)
        incarnation, cipher, again, protocol = struct.unpack(">QBII4x", n.open(msg[44:81]))
        if again != sender or not self.offers & BIT[cipher]:
            raise ValueError("index or cipher not confirmed")
        if protocol != self.protocol:
            raise OtherProtocol(protocol)
        there, back = split(n.ck, b"", 2)
        return Session(self.index, sender, DataKey(there, n.h, cipher, 1), DataKey(back, n.h, cipher, 2), cipher, True, incarnation, time.time())


class Initiation:
    """An initiation that has come, and the answer to it."""

    def __init__(self, static, msg):
        if len(msg) != 181 or not mac1_ok(msg, static.public):
            raise ValueError("no initiation for us")
        self.index = struct.unpack(">I", msg[4:8])[0]
        n = self.noise = Noise(msg[:8], static.public)
        self.e = msg[8:40]
        n.mixhash(self.e)
        n.mixkey(self.e)
        n.mixkey(static.dh(self.e))
        self.remote = n.open(msg[40:88])
        n.mixkey(static.dh(self.remote))
        hello = n.open(msg[88:149])
        self.timestamp, self.token = hello[:12], hello[12:28]
        self.incarnation, self.offers = struct.unpack(">QB", hello[28:37])
        self.mac1 = msg[-32:-16]

    def respond(self, psk, index, incarnation, allowed):
        n = self.noise
        e = Key()
        n.mixhash(e.public)
        n.mixkey(e.public)
        n.mixkey(e.dh(self.e))
        n.mixkey(e.dh(self.remote))
        n.mixpsk(psk)
        cipher = next(c for c in PREFERENCE if BIT[c] & allowed & self.offers)
        answer = n.seal(struct.pack(">QBI8x", incarnation, cipher, index))
        there, back = split(n.ck, b"", 2)
        msg = stamp(struct.pack(">B3xII", RESPONSE, index, self.index) + e.public + answer, self.remote)
        return msg, Session(index, self.index, DataKey(back, n.h, cipher, 2), DataKey(there, n.h, cipher, 1), cipher, False, self.incarnation, time.time())


def read_cookie(msg, sender, mac1):
    return cookie_open(sender, msg[8:32], msg[32:64], mac1)


def false_cookie(index, sender, mac1, cookie):
    """A cookie reply as anybody makes it who saw the packet and knows the sender's public key."""
    from crypto import cookie_seal
    nonce = os.urandom(24)
    return struct.pack(">B3xI", COOKIE, index) + nonce + cookie_seal(sender, nonce, cookie, mac1)


# Frames.

Imm = namedtuple("Imm", "slot seq offset length segment flags")
Record = namedtuple("Record", "slot hold highest below ce")


def imm(i):
    return struct.pack(">HIHHHB", *i)


def message(number, i, payload):
    return struct.pack(">BHI", MESSAGE, len(payload), number & 0xffffffff) + imm(i) + payload


def tombstone(number, i):
    return struct.pack(">BI", TOMBSTONE, number & 0xffffffff) + imm(i)


def ack(first, records=(), words=()):
    b = struct.pack(">BBBQI", ACK, len(records), len(words), first, 0)
    for r in records:
        b += struct.pack(">HHQQI", *r)
    return b + b"".join(struct.pack(">Q", w) for w in words)


def challenge(secret):
    return bytes([CHALLENGE]) + secret


def reply(secret):
    return bytes([REPLY]) + secret


def frames(b):
    """Yields (kind, value) of each frame; stops at one cut short or unknown, as the page says."""
    while b:
        kind = b[0]
        if kind == PAD:
            return
        if kind == MESSAGE:
            n, number = struct.unpack(">HI", b[1:7])
            if len(b) < 20 + n:
                return
            yield kind, (number, Imm(*struct.unpack(">HIHHHB", b[7:20])), b[20:20 + n])
            b = b[20 + n:]
        elif kind == TOMBSTONE:
            yield kind, (struct.unpack(">I", b[1:5])[0], Imm(*struct.unpack(">HIHHHB", b[5:18])))
            b = b[18:]
        elif kind == ACK:
            records, words, first, _ = struct.unpack(">BBQI", b[1:15])
            at = 15 + 24 * records
            yield kind, (first, [Record(*struct.unpack(">HHQQI", b[15 + 24 * i:39 + 24 * i])) for i in range(records)],
                         list(struct.unpack(">%dQ" % words, b[at:at + 8 * words])))
            b = b[at + 8 * words:]
        elif kind in (CHALLENGE, REPLY):
            yield kind, b[1:17]
            b = b[17:]
        elif kind == CLOSE:
            yield kind, b[1]
            b = b[2:]
        elif kind == PING:
            yield kind, None
            b = b[1:]
        elif kind == STAMP:
            yield kind, struct.unpack(">I", b[1:5])[0]
            b = b[5:]
        elif kind == METRIC:
            yield kind, struct.unpack(">HB", b[1:4])
            b = b[4:]
        else:
            return


def expand(low, reference):
    """The number nearest to reference that has these low 32 bits."""
    n = (reference & ~0xffffffff) | low
    return min((m for m in (n - 2**32, n, n + 2**32) if m >= 0), key=lambda m: abs(m - reference))
