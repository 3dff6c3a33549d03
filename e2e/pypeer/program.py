"""An endpoint of "Messages of programs" and "Tagged messages" in docs/wire.md: requests both ways, writes and reads
both ways, tagged messages."""
import os
import struct

import wire
from crypto import HASH
from peer import Peer

PIECE, ANSWERS, REST, READ, REPLY = 1, 2, 3, 4, 5
IMMEDIATE, SOLICITED, WRITE = 0x80, 0x40, 0x20
ACCEPTED, GRANTED, NOT_READY, TOO_LONG, GONE, BARRED, DENIED = range(1, 8)
EAGER = 8192
SIZE = 1024  # payload bytes of a piece, with a region's place: fits 1,200 with room for an acknowledgement
COMPLETE = 0  # the result of a read whose bytes are here


def raw(kind, number, total, at=0, size=0):
    return struct.pack(">BI", kind, number) + total.to_bytes(3, "big") + at.to_bytes(3, "big") + struct.pack(">H", size)


class Request:
    """One of ours: a message, a write or a read."""

    def __init__(self, number, flags, data, place=b""):
        self.number, self.flags, self.data, self.place = number, flags, data, place
        self.result = None
        self.granted = False


class Part:
    """An incomplete request of the other end's."""

    def __init__(self, flags, total, verdict):
        self.flags, self.total, self.verdict = flags, total, verdict
        self.data, self.seen, self.granted, self.over = bytearray(total), 0, False, False


class Program(Peer):
    def __init__(self, target, private, protocol, address):
        """target is (public key, address, port)."""
        env = {
            "peers": {"me": {"private": private.hex(), "address": address, "inner": ""}},
            "daemons": {"auto": {"public": target[0].hex(), "address": target[1], "port": target[2], "pid": 0, "inner": ""}},
        }
        super().__init__(env, "me")
        self.protocol = struct.unpack(">I", HASH(protocol.encode())[:4])[0]
        self.requests = self.serial = None
        self.fresh_program()

    def fresh_program(self):
        self.requests, self.serial = {}, 0
        self.incoming = {}
        self.receives = 0        # posted
        self.refused = 0
        self.messages = []       # that came: (immediate or None, bytes)
        self.regions = {}        # key -> bytearray that the other end may read
        self.verdicts = []       # that we gave

    # Sending.

    def put(self, header, payload=b""):
        n, self.numbers = self.numbers, self.numbers + 1
        self.post([(n, wire.Imm(*struct.unpack(">HIHHHB", header)), payload)])

    def begin(self, flags, data, place=b""):
        r = Request(self.serial, flags, data, place)
        self.serial += 1
        self.requests[r.number] = r
        return r

    def pieces(self, r, start, end, reverse=False):
        cuts = list(range(start, end, SIZE)) or [start]
        for at in reversed(cuts) if reverse else cuts:
            part = r.data[at:min(end, at + SIZE)]
            place = r.place if at < EAGER else b""
            self.put(raw(PIECE | r.flags, r.number, len(r.data), at, len(part)), place + part)

    def message_to(self, data, immediate=None, **how):
        """Begins a message. Its result comes when run() has served the sockets."""
        flags = how.pop("flags", 0)
        if immediate is not None:
            flags, data = flags | IMMEDIATE, struct.pack(">I", immediate) + data
        r = self.begin(flags, data)
        self.pieces(r, 0, min(EAGER, len(data)), **how)
        return r

    def write(self, key, offset, data, **how):
        r = self.begin(WRITE, data, struct.pack(">QQ", key, offset))
        self.pieces(r, 0, min(EAGER, len(data)), **how)
        return r

    def read(self, key, offset, size):
        r = self.begin(0, bytearray(size))
        r.seen = 0
        self.put(raw(READ, r.number, size), struct.pack(">QQ", key, offset))
        return r

    def give_up(self, r, sent):
        """Sends a rest: the bytes from sent on will not come."""
        self.put(raw(REST | r.flags, r.number, len(r.data), sent))

    def announce(self, receives):
        """Posts receives, and tells the other end if it was refused."""
        self.receives += receives
        if self.refused:
            self.put(struct.pack(">BH10x", ANSWERS, receives))
            self.refused = 0

    def finished(self, *requests, timeout=5.0):
        if not self.run(lambda: all(r.result is not None for r in requests), timeout):
            raise AssertionError("requests without an answer")
        return [r.result for r in requests]

    # Receiving.

    def carried(self, kind, n, v):
        header = wire.imm(v[1])
        payload = v[2] if kind == wire.MESSAGE else None
        what = header[0] & 15
        if what == ANSWERS:
            for at in range(0, len(payload), 5):
                self.answered(*struct.unpack(">IB", payload[at:at + 5]))
            return
        number = struct.unpack(">I", header[1:5])[0]
        total, at = int.from_bytes(header[5:8], "big"), int.from_bytes(header[8:11], "big")
        size = struct.unpack(">H", header[11:])[0]
        if what == REPLY:
            self.replied(number, total, at, payload)
        elif what == READ:
            self.asked(number, total, *struct.unpack(">QQ", payload))
        else:
            self.part(what, header[0] & 0xf0, number, total, at, size, payload)

    def answered(self, number, verdict):
        r = self.requests[number]
        if verdict == GRANTED:
            if r.granted or len(r.data) <= EAGER:
                raise AssertionError("a grant for nothing")
            r.granted = True
            self.pieces(r, EAGER, len(r.data))
            return
        if r.result is not None:
            raise AssertionError("request %d is answered twice" % number)
        r.result = verdict

    def replied(self, number, total, at, payload):
        r = self.requests[number]
        if total != len(r.data) or r.result is not None:
            raise AssertionError("a reply for nothing")
        r.data[at:at + len(payload)] = payload
        r.seen += len(payload)
        if r.seen == total:
            r.result = COMPLETE

    def asked(self, number, total, key, offset):
        memory = self.regions.get(key)
        if memory is None or offset + total > len(memory):
            return self.judge(number, DENIED)
        for at in list(range(0, total, SIZE)) or [0]:
            part = bytes(memory[offset + at:offset + min(total, at + SIZE)])
            self.put(raw(REPLY, number, total, at, len(part)), part)

    def part(self, what, flags, number, total, at, size, payload):
        p = self.incoming.get(number)
        if p is None:
            verdict = ACCEPTED if self.receives else NOT_READY
            self.receives -= verdict == ACCEPTED
            self.refused += verdict == NOT_READY
            p = self.incoming[number] = Part(flags, total, verdict)
        if what == REST or payload is None:
            p.over = True
            size = total - at if what == REST else size
        else:
            if len(payload) != size:
                raise AssertionError("a piece of %d bytes says %d" % (len(payload), size))
            p.data[at:at + size] = payload
        p.seen += size
        whole = p.seen == total
        if not whole and (p.granted or p.seen < min(EAGER, total)):
            return
        if not whole and p.verdict == ACCEPTED and not p.over:
            p.granted = True
            return self.judge(number, GRANTED)
        del self.incoming[number]
        self.judge(number, GONE if p.over else p.verdict)
        if p.verdict == ACCEPTED and not p.over:
            immediate = struct.unpack(">I", p.data[:4])[0] if flags & IMMEDIATE else None
            self.messages.append((immediate, bytes(p.data[4 if flags & IMMEDIATE else 0:])))

    def judge(self, number, verdict):
        self.verdicts.append(verdict)
        self.put(struct.pack(">BH10x", ANSWERS, 0), struct.pack(">IB", number, verdict))

    # Tagged messages.

    def tagged(self, tag, data, ordered=None):
        """Sends an eager one; ordered is (epoch, number, base)."""
        head = struct.pack(">BQ", 1 | (0x80 if ordered else 0), tag)
        return self.message_to(head + (struct.pack(">QIB", ordered[0], ordered[1], ordered[1] - ordered[2]) if ordered else b"") + data)

    def offer(self, tag, number, data):
        """Sends an offer of bytes, and lets the other end read them."""
        key = struct.unpack(">Q", os.urandom(8))[0]
        self.regions[key] = bytearray(data)
        return self.message_to(struct.pack(">BQIQQ", 2, tag, number, len(data), key))
