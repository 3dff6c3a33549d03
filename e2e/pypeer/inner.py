"""Inner packets: IPv4 with ICMP echo or UDP, and their checksums."""
import ipaddress
import struct


def checksum(b):
    if len(b) % 2:
        b += b"\0"
    s = sum(struct.unpack(">%dH" % (len(b) // 2), b))
    while s >> 16:
        s = (s & 0xffff) + (s >> 16)
    return ~s & 0xffff


def ipv4(src, dst, proto, payload, ident=0):
    src, dst = ipaddress.IPv4Address(src).packed, ipaddress.IPv4Address(dst).packed
    h = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), ident, 0, 64, proto, 0, src, dst)
    return h[:10] + struct.pack(">H", checksum(h)) + h[12:] + payload


def echo(src, dst, ident, number, size=32):
    data = bytes((number + i) & 0xff for i in range(size))
    b = struct.pack(">BBHHH", 8, 0, 0, ident, number) + data
    return ipv4(src, dst, 1, b[:2] + struct.pack(">H", checksum(b)) + b[4:])


def is_echo_reply(packet, ident):
    """The number of the echo that this answers, or None."""
    if packet[9] != 1 or packet[20] != 0 or struct.unpack(">H", packet[24:26])[0] != ident or checksum(packet[20:]) != 0:
        return None
    return struct.unpack(">H", packet[26:28])[0]


def udp(src, dst, sport, dport, data, partial=False):
    """A UDP packet; partial leaves the checksum to the receiver."""
    n = 8 + len(data)
    pseudo = ipaddress.IPv4Address(src).packed + ipaddress.IPv4Address(dst).packed + struct.pack(">HH", 17, n)
    b = struct.pack(">HHHH", sport, dport, n, 0) + data
    c = 0 if partial else (checksum(pseudo + b) or 0xffff)
    return ipv4(src, dst, 17, b[:6] + struct.pack(">H", c) + b[8:])


def udp_parts(packet, partial):
    """(source port, destination port, data) of a UDP packet whose checksum is right, or partial."""
    if packet[9] != 17:
        return None
    h = (packet[0] & 15) * 4
    sport, dport, n, c = struct.unpack(">HHHH", packet[h:h + 8])
    pseudo = packet[12:20] + struct.pack(">HH", 17, n)
    if not partial and c and checksum(pseudo + packet[h:h + n]) != 0:
        return None
    return sport, dport, packet[h + 8:h + n]
