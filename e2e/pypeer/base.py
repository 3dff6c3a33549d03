"""What conformance checks and attacks share: the list of checks, the daemon's figures, the other end's helper."""
import json
import os
import socket
import subprocess
import time

import inner
import wire
from peer import Peer

CHECKS = []

STILL = 3.0   # s without a datagram: no more come, since the daemon sends none that waited for 2 s
MOST = 30.0   # s for the datagrams of one blast
TRIES = 5     # of a blast whose datagrams the daemon may drop for a late peer


def check(who):
    """Registers a check that plays the peer called who."""

    def add(f):
        CHECKS.append((f.__name__.replace("_", "-"), f, who))
        return f

    return add


def need(ok, why, *args):
    if not ok:
        raise AssertionError(why % args)


class Host:
    """The daemon's host, seen from here."""

    def __init__(self, env):
        self.env = env
        self.s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.s.settimeout(5)

    def order(self, **what):
        self.s.sendto(json.dumps(what).encode(), (self.env["source"], 9000))
        return json.loads(self.s.recv(65535))

    def blast(self, peer, port, count, size, gap=100):
        self.order(blast=[peer.inner, port, count, size, gap])

    def blasts(self):
        """What became of each blast, by the helper's account."""
        return self.order(blasts=True)

    def account(self, peer):
        """(datagrams that the daemon says it dropped or gave up, the same in words) on the way to peer."""
        p = next(p for p in self.show()["peers"] if p["name"] == peer.name)
        lost = sum(p["drops"].values()) + p["messages"]["given_up"]
        paths = [(path["state"], path["srtt_us"], path["lost"], path["retransmits"]) for path in p["paths"]]
        return lost, "drops %s, messages %s, queue %s, cwnd %d, in flight %d, waited %s, paths (state, srtt, lost, retransmits) %s" % (
            p["drops"], p["messages"], p["queue"], p["cwnd_bytes"], p["bytes_in_flight"], p["waited_us"], paths)

    def show(self, daemon="auto"):
        """What the daemon says of itself: over its unix socket, which has no namespace."""
        return json.loads(subprocess.check_output([self.env["bin"], "show", self.env["daemons"][daemon]["name"], "--json"]))


def cpu(pid):
    """Seconds of processor time of a process so far."""
    with open("/proc/%d/stat" % pid) as f:
        v = f.read().rsplit(")", 1)[1].split()
    return (int(v[11]) + int(v[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid):
    """Bytes of memory of a process now."""
    with open("/proc/%d/status" % pid) as f:
        return next(int(l.split()[1]) << 10 for l in f if l.startswith("VmRSS"))


def numbers_of(peer, port, since=0):
    """The numbers of the datagrams of a blast to port that were handed on, in order."""
    out = []
    for i, p in peer.got[since:]:
        parts = inner.udp_parts(p, bool(i.flags & 8))
        if parts and parts[1] == port:
            step = i.segment or len(parts[2])
            out += [int.from_bytes(parts[2][at:at + 4], "big") for at in range(0, len(parts[2]), step)]
    return out


def arrivals(peer, port, want):
    """Waits for so many datagrams of a blast to port, as long as they keep coming. Returns their numbers."""
    numbers, seen, last = [], 0, time.time()

    def over():
        nonlocal seen, last
        fresh = numbers_of(peer, port, seen)
        seen = len(peer.got)
        if fresh:
            numbers.extend(fresh)
            last = time.time()
        return len(numbers) >= want or time.time() - last > STILL

    peer.run(over, MOST)
    return numbers


def blast_arrives(peer, host, port, count, size, gap, want):
    """Of a blast at least want datagrams arrive. On a busy machine this peer acknowledges late, and the daemon's
    queue management may drop some. Then the daemon counts each that is missing, and another blast is sent."""
    for left in reversed(range(TRIES)):
        peer.got = []
        before, was = host.account(peer)
        host.blast(peer, port, count, size, gap)
        got = len(arrivals(peer, port, want))
        if got >= want:
            return
        after, said = host.account(peer)
        need(left and count - got <= after - before, "%d of %d, of which the daemon counts %d as lost. Sent: %s. Before: %s. After: %s",
             got, count, after - before, host.blasts()[-1], was, said)


class Victim:
    """Sockets on addresses whose owner never answers. What arrives is counted."""

    def __init__(self, peer, address, ports=1):
        self.socks = [peer.open(address) for _ in range(ports)]
        self.peer = peer
        self.forged = 0
        for s in self.socks:
            peer.rx[s] = 0

    def forge(self, data, k=0):
        self.socks[k % len(self.socks)].sendto(data, self.peer.endpoint)
        self.forged += len(data)

    def got(self):
        return sum(self.peer.rx[s] for s in self.socks)

    def fair(self, what):
        need(self.got() <= 3 * self.forged, "%s: %d bytes to an address that paid for %d (x%.1f)",
             what, self.got(), self.forged, self.got() / max(1, self.forged))


class Deaf(Peer):
    """A peer some of whose sockets are a victim's: what comes there is counted and not acted upon."""

    def drain(self, s):
        if s in getattr(self, "mute", ()):
            while True:
                try:
                    self.rx[s] += len(s.recv(65535))
                except (BlockingIOError, ConnectionRefusedError):
                    return
        super().drain(s)


def victim(peer, address, ports=1):
    v = Victim(peer, address, ports)
    peer.mute = set(getattr(peer, "mute", ())) | set(v.socks)
    return v


def median(v):
    return sorted(v)[len(v) // 2]


def now():
    return time.time()


__all__ = ["CHECKS", "check", "need", "Host", "cpu", "resident", "numbers_of", "arrivals", "blast_arrives", "victim", "Deaf", "Peer", "median", "now", "wire", "inner"]
