"""A peer of docs/wire.md with as many sockets as one likes; single-threaded, driven by run()."""
import os
import random
import select
import socket
import struct
import time

import inner
import wire

RESEND = 0.1  # until a round trip is known
HOLD = 0.15   # for a frame of a flow that is missing
SPACE = 1100  # payload bytes of one message: fits 1,200 with room for an acknowledgement


class Peer:
    def __init__(self, env, who, daemon="auto"):
        """who is an entry of the keys that the daemon knows."""
        me = env["peers"][who]
        self.env, self.name, self.inner = env, who, me["inner"]
        self.static = wire.Key(bytes.fromhex(me["private"]))
        self.psk = bytes.fromhex(me.get("psk", "")) or bytes(32)
        d = env["daemons"][me.get("daemon", daemon)]
        self.daemon, self.endpoint, self.pid = bytes.fromhex(d["public"]), (d["address"], d["port"]), d["pid"]
        self.there = d["inner"]
        self.address = me["address"]
        self.offers = 7
        self.protocol = 0
        self.incarnation = random.getrandbits(64)
        self.attempts, self.sessions, self.use = {}, {}, None  # use: the session that seals
        self.clock = 0
        self.cookie = None
        self.socks, self.pn = [], {}
        self.seen = {}            # slot of the daemon's -> numbers
        self.dirty = set()
        self.owe = False
        self.auto_ack = self.auto_reply = True
        self.lose = lambda data: False             # packets
        self.refuse = lambda kind, value: False    # packets with such a frame
        self.calls = []           # initiations of the daemon that were not answered: (socket, from, message)
        self.auto_answer = True
        self.rx = {}              # socket -> bytes that came
        self.log = []             # (time, socket, kind, value) of frames that came
        self.answers = 0
        self.cookies = 0
        self.fresh_state()

    def fresh_state(self):
        """What a new incarnation of either end resets."""
        self.first, self.above, self.numbers = 0, set(), 0
        self.sent, self.unacked, self.places = {}, {}, {}
        self.parts, self.flow_next, self.flow_seq, self.waiting = {}, {}, {}, {}
        self.got = []             # inner frames: (immediate, bytes)
        self.copies = self.resent = 0
        self.tombs = []

    # Sockets and paths: a socket of ours is a path slot of ours.

    def open(self, address=None, port=0):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for option in (33, socket.SO_RCVBUF):  # SO_RCVBUFFORCE
            try:
                s.setsockopt(socket.SOL_SOCKET, option, 8 << 20)
                break
            except OSError:
                pass
        s.bind((address or self.address, port))
        s.setblocking(False)
        self.rx[s] = 0
        self.socks.append(s)
        return s

    def close(self):
        if self.use:
            self.send(bytes([wire.CLOSE, 0]))
        for s in self.socks:
            s.close()

    def slot(self, s):
        return self.socks.index(s)

    # Handshake.

    def call(self, s=None, **how):
        """Sends an initiation, on all sockets of how["on"] if given."""
        on = how.pop("on", [s or self.main()])
        index = random.getrandbits(32)
        how.setdefault("timestamp", max(time.time(), self.clock + 1e-6))
        self.clock = how["timestamp"]
        a = wire.Initiator(self.static, self.daemon, self.psk, index, self.incarnation, self.offers, cookie=self.cookie, protocol=self.protocol, **how)
        self.attempts[index] = a
        for o in on:
            o.sendto(a.msg, self.endpoint)
        return a

    def main(self):
        return self.socks[0] if self.socks else self.open()

    def connect(self, timeout=5.0, prove=True, **how):
        """Calls until there is a session."""
        end, wait = time.time() + timeout, 0.25
        before = self.use
        while self.use is before:
            if time.time() > end:
                raise AssertionError("no session within %.1f s" % timeout)
            self.call(**how)
            self.run(lambda: self.use is not before, wait)
            wait = min(2 * wait, 5)
        if prove:
            self.acknowledge()
        return self.use

    def answer(self, s, frm, msg):
        """Answers an initiation; the keys are used when a packet has opened under them."""
        i = wire.Initiation(self.static, msg)
        if i.remote != self.daemon:
            raise AssertionError("initiation of a stranger")
        response, session = i.respond(self.psk, random.getrandbits(32), self.incarnation, self.offers)
        self.sessions[session.local] = session
        s.sendto(response, frm)
        return i, response, session

    def handshake_packet(self, s, frm, data):
        kind = data[0]
        if kind == wire.INITIATION:
            if self.auto_answer:
                self.answer(s, frm, data)
            else:
                self.calls.append((s, frm, data))
        elif kind == wire.RESPONSE:
            a = self.attempts.get(struct.unpack(">I", data[8:12])[0])
            if a:
                self.use = a.finish(data)
                self.answers += 1
                self.sessions[self.use.local] = self.use
                del self.attempts[a.index]
                self.restarted(self.use)
        elif kind == wire.COOKIE:
            a = self.attempts.get(struct.unpack(">I", data[4:8])[0])
            if a:
                self.cookie = wire.read_cookie(data, self.daemon, a.mac1)
                self.cookies += 1

    def restarted(self, session):
        if getattr(self, "met", session.incarnation) != session.incarnation:
            self.fresh_state()
            self.seen.clear()
        self.met = session.incarnation

    # Packets.

    def seal(self, frames, slot=0, pad=0, session=None):
        k = session or self.use
        pn = self.pn.get(slot, 0)
        self.pn[slot] = pn + 1
        header = struct.pack(">BBHIQ", wire.DATA, 0, slot, k.remote, pn)
        return k.send.seal(header, frames + bytes(max(0, pad - 32 - len(frames)))), pn

    def send(self, frames, s=None, pad=0, session=None):
        s = s or self.main()
        packet, pn = self.seal(frames, self.slot(s), pad, session)
        s.sendto(packet, self.endpoint)
        return self.slot(s), pn, len(packet)

    def data_packet(self, s, frm, data):
        slot, index, pn = struct.unpack(">HIQ", data[2:16])
        k = self.sessions.get(index)
        seen = self.seen.setdefault(slot, set())
        if not k or (pn in seen and k.incarnation == getattr(self, "met", k.incarnation)):
            return
        plain = k.recv.open(data)
        if any(self.refuse(*f) for f in wire.frames(plain)):
            return
        if not k.initiator and (self.use is None or k.born > self.use.born) and self.use is not k:
            self.use = k  # the initiator has the keys
            self.restarted(k)
            seen = self.seen.setdefault(slot, set())
        seen.add(pn)
        self.hear(s, frm, slot, plain, len(data))

    def hear(self, s, frm, slot, plain, size):
        now = time.time()
        asks = False
        challenge = None
        for kind, v in wire.frames(plain):
            self.log.append((now, s, kind, v, size))
            if kind in (wire.MESSAGE, wire.TOMBSTONE):
                asks = True
                self.message(kind, v)
            elif kind == wire.PING:
                asks = True
            elif kind == wire.ACK:
                self.acked(*v)
            elif kind == wire.CHALLENGE:
                challenge = challenge or v
            elif kind == wire.CLOSE:
                self.use = None
        if asks:
            self.dirty.add(slot)
            self.owe = True
        if challenge and self.auto_reply and self.use:
            self.send(wire.reply(challenge), s)

    # Messages.

    def message(self, kind, v):
        n = wire.expand(v[0], self.first)
        if n < self.first or n in self.above:
            self.copies += 1
            return
        if n >= self.first + 32768:
            return
        self.above.add(n)
        while self.first in self.above:
            self.above.remove(self.first)
            self.first += 1
        self.carried(kind, n, v)

    def carried(self, kind, n, v):
        """A message that came for the first time: a part of a tunnel's frame."""
        i = v[1]
        key = (i.slot, i.seq)
        if kind == wire.TOMBSTONE:
            self.tombs.append((n, i))
            self.parts[key] = None
            return self.hand_on(key, i, None)
        if self.parts.get(key, {}) is None:
            return
        part = self.parts.setdefault(key, {})
        part[i.offset] = v[2]
        if sum(map(len, part.values())) == i.length:
            whole = b"".join(part[o] for o in sorted(part))
            del self.parts[key]
            self.hand_on(key, i, whole)

    def hand_on(self, key, i, whole):
        """Restores the order of a flow slot."""
        slot, seq = key
        if not i.flags & 16 and whole is not None:
            self.got.append((i, whole))
        queue = self.waiting.setdefault(slot, {})
        queue[seq] = (time.time(), i, whole)
        self.release(slot)

    def release(self, slot):
        queue = self.waiting[slot]
        while queue:
            seq = self.flow_next.setdefault(slot, 0)
            if seq not in queue:
                at = min(queue)
                if at >= seq and time.time() - queue[at][0] < HOLD:
                    return
                self.flow_next[slot] = seq = at
            _, i, whole = queue.pop(seq)
            self.flow_next[slot] = seq + 1
            if whole is not None and i.flags & 16:
                self.got.append((i, whole))

    def acked(self, first, records, words):
        for r in records:
            for j in range(-1, 64):
                if j < 0 or r.below >> j & 1:
                    self.forget_packet((r.slot, r.highest - 1 - j))
        for n in [n for n in self.unacked if n < first]:
            del self.unacked[n]
        for w, word in enumerate(words):
            for b in range(64):
                if word >> b & 1:
                    self.unacked.pop(first + 1 + 64 * w + b, None)

    def forget_packet(self, place):
        for n in self.places.pop(place, ()):
            self.unacked.pop(n, None)

    def acknowledge(self, s=None, slots=None, words=True):
        """Sends an ACK of all that has come."""
        records = []
        for slot in sorted(self.dirty if slots is None else slots)[:16]:
            seen = self.seen[slot]
            high = max(seen)
            below = sum(1 << i for i in range(64) if high - 1 - i in seen)
            records.append(wire.Record(slot, 65535, high, below, 0))
        bits = []
        if words and self.above:
            for w in range(min(96, (max(self.above) - self.first - 1) // 64 + 1)):
                bits.append(sum(1 << b for b in range(64) if self.first + 1 + 64 * w + b in self.above))
        self.dirty.clear()
        self.owe = False
        if self.use:
            self.send(wire.ack(self.first, records, bits), s)

    def cut(self, packet, slot=1, flags=16, segment=0, space=SPACE, ordered=True):
        """The messages of a frame: (number, immediate, payload)."""
        seq = self.flow_seq.get(slot, 0)
        self.flow_seq[slot] = seq + 1
        out = []
        for at in range(0, len(packet), space):
            i = wire.Imm(slot, seq, at, len(packet), segment, flags)
            out.append((self.numbers, i, packet[at:at + space]))
            self.numbers += 1
        return out

    def post(self, messages, on=None, reverse=False, lose=lambda n: False):
        """Sends messages, one a packet, over the sockets of on in turn, and repeats them until acknowledged."""
        on = on or [self.main()]
        for k, m in enumerate(reversed(messages) if reverse else messages):
            s = on[k % len(on)]
            self.unacked[m[0]] = (m, time.time(), on, k)
            if lose(m[0]):
                packet, pn = self.seal(wire.message(*m), self.slot(s))  # a number that never leaves
            else:
                slot, pn, _ = self.send(wire.message(*m), s)
                self.places.setdefault((slot, pn), []).append(m[0])

    def repeat(self, now):
        for n, (m, at, on, k) in list(self.unacked.items()):
            if now - at > RESEND and self.use:
                s = on[(k + 1) % len(on)]
                slot, pn, _ = self.send(wire.message(*m), s)
                self.places.setdefault((slot, pn), []).append(n)
                self.unacked[n] = (m, now, on, k + 1)
                self.resent += 1

    # The loop.

    def run(self, until=lambda: False, timeout=1.0):
        """Serves the sockets until the condition holds; returns whether it does."""
        end = time.time() + timeout
        while not until():
            left = end - time.time()
            if left <= 0:
                return False
            ready = select.select(self.socks, [], [], min(left, 0.02))[0]
            for s in ready:
                self.drain(s)
            if self.owe and self.auto_ack:
                self.acknowledge()
            self.repeat(time.time())
            for slot in list(self.waiting):
                if self.waiting[slot]:
                    self.release(slot)
        return True

    def drain(self, s):
        for _ in range(256):
            try:
                data, frm = s.recvfrom(65535)
            except (BlockingIOError, ConnectionRefusedError):
                return
            self.rx[s] += len(data)
            if self.lose(data):
                continue
            if data[0] == wire.DATA:
                self.data_packet(s, frm, data)
            else:
                self.handshake_packet(s, frm, data)

    # What checks ask.

    def heard(self, kind, s=None, since=0.0):
        return [v for t, o, k, v, _ in self.log if k == kind and t >= since and (s is None or o is s)]

    def validate(self, s, timeout=2.0):
        """Challenges the way over s, at full size, and is challenged on it."""
        secret = os.urandom(16)
        self.send(wire.challenge(secret), s, 1200)
        if not self.run(lambda: secret in self.heard(wire.REPLY), timeout):
            raise AssertionError("no response to a challenge")

    def ping(self, count=1, size=32, timeout=3.0, **how):
        """Echo requests through the tunnel; returns how many were answered, and the time of the last answer."""
        ident = random.getrandbits(16)
        self.got = []
        for n in range(count):
            self.post(self.cut(inner.echo(self.inner, self.there, ident, n, size), slot=2), **how)
        numbers = lambda: {inner.is_echo_reply(p, ident) for _, p in self.got} - {None}
        self.run(lambda: len(numbers()) == count, timeout)
        return len(numbers())
