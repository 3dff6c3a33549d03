"""Keys and seals of docs/wire.md: Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s by hand, MACs, cookies, data keys."""
import hashlib
import hmac
import struct

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

AES256, CHACHA, AES128 = 1, 2, 3
PREFERENCE = (AES256, AES128, CHACHA)


def HASH(*parts):
    return hashlib.blake2s(b"".join(parts)).digest()


def MAC(key, *parts):
    return hashlib.blake2s(b"".join(parts), key=key, digest_size=16).digest()


def hkdf(salt, secret, length, info=b""):
    """RFC 5869 with HMAC-BLAKE2s."""
    prk = hmac.new(salt, secret, hashlib.blake2s).digest()
    out, block, i = b"", b"", 0
    while len(out) < length:
        i += 1
        block = hmac.new(prk, block + info + bytes([i]), hashlib.blake2s).digest()
        out += block
    return out[:length]


def split(salt, secret, n):
    out = hkdf(salt, secret, 32 * n)
    return [out[32 * i:32 * i + 32] for i in range(n)]


class Key:
    """A static or ephemeral key pair."""

    def __init__(self, private=None):
        self.key = X25519PrivateKey.from_private_bytes(private) if private else X25519PrivateKey.generate()
        self.public = self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def dh(self, public):
        return self.key.exchange(X25519PublicKey.from_public_bytes(public))


class Noise:
    """The symmetric state; every key seals once."""

    def __init__(self, header, responder):
        self.h = self.ck = HASH(b"Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s")
        self.k = None
        self.mixhash(b"srdtun handshake v2" + header)
        self.mixhash(responder)

    def mixhash(self, x):
        self.h = HASH(self.h, x)

    def mixkey(self, x):
        self.ck, self.k = split(self.ck, x, 2)

    def mixpsk(self, psk):
        self.ck, t, self.k = split(self.ck, psk, 3)
        self.mixhash(t)

    def seal(self, x):
        out = ChaCha20Poly1305(self.k).encrypt(bytes(12), x, self.h)
        self.mixhash(out)
        return out

    def open(self, x):
        out = ChaCha20Poly1305(self.k).decrypt(bytes(12), x, self.h)
        self.mixhash(x)
        return out


def _rotl(x, n):
    return ((x << n) | (x >> (32 - n))) & 0xffffffff


def hchacha20(key, nonce):
    """The derivation of XChaCha20 (draft-irtf-cfrg-xchacha, section 2.2)."""
    s = list(struct.unpack("<4I", b"expand 32-byte k") + struct.unpack("<8I", key) + struct.unpack("<4I", nonce))

    def quarter(a, b, c, d):
        for x, y, z, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            s[x] = (s[x] + s[y]) & 0xffffffff
            s[z] = _rotl(s[z] ^ s[x], n)

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return struct.pack("<8I", *(s[0:4] + s[12:16]))


def _xchacha(key, nonce):
    return ChaCha20Poly1305(hchacha20(key, nonce[:16])), bytes(4) + nonce[16:]


def cookie_seal(public, nonce, cookie, mac1):
    aead, n = _xchacha(HASH(b"srdtun cookie", public), nonce)
    return aead.encrypt(n, cookie, mac1)


def cookie_open(public, nonce, sealed, mac1):
    aead, n = _xchacha(HASH(b"srdtun cookie", public), nonce)
    return aead.decrypt(n, sealed, mac1)


class DataKey:
    """Seals or opens the packets of one direction of a session."""

    def __init__(self, secret, handshake_hash, cipher, direction):
        out = hkdf(handshake_hash, secret, 44, b"srdtun v2 data" + bytes([cipher, direction]))
        key, iv = out[:32], out[32:]
        self.aead = {AES256: lambda: AESGCM(key), AES128: lambda: AESGCM(key[:16]), CHACHA: lambda: ChaCha20Poly1305(key)}[cipher]()
        self.iv = int.from_bytes(iv, "big")

    def nonce(self, header):
        slot, pn = struct.unpack(">H", header[2:4])[0], struct.unpack(">Q", header[8:16])[0]
        return (self.iv ^ (slot << 64 | pn)).to_bytes(12, "big")

    def seal(self, header, plain):
        return header + self.aead.encrypt(self.nonce(header), plain, header)

    def open(self, packet):
        header = packet[:16]
        return self.aead.decrypt(self.nonce(header), packet[16:], header)
