// Package handshake agrees on the keys of one epoch between two peers. The handshake is
// Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s, guarded by the two MACs and the cookies of WireGuard
// (Donenfeld, NDSS 2017, sections 5.3, 5.4.4 and 5.4.7).
//
// The package is pure: time and randomness are arguments, and the package starts no goroutines.
// No type is safe for concurrent use, so the caller holds a lock. A peer's attempts run under
// that peer's lock.
//
// # Wire
//
// All integers are big endian. The first byte of every packet holds the type in its low nibble
// and the version in its high nibble. The reserved bytes after the first byte are zero and
// checked.
//
//	initiation, 181 bytes              response, 113 bytes
//	  0   1  0x21                        0   1  0x22
//	  1   3  zero                        1   3  zero
//	  4   4  sender index                4   4  sender index
//	  8  32  e                           8   4  receiver index
//	 40  48  s, sealed                  12  32  e
//	 88  61  hello, sealed              44  37  answer, sealed
//	149  16  mac1                       81  16  mac1
//	165  16  mac2                       97  16  mac2
//
//	cookie reply, 64 bytes
//	  0   1  0x23
//	  1   3  zero
//	  4   4  receiver index
//	  8  24  nonce
//	 32  32  cookie, sealed
//
//	hello, 45 bytes                    answer, 21 bytes
//	  0  12  timestamp, TAI64N           0   8  incarnation
//	 12  16  token                       8   1  cipher
//	 28   8  incarnation                 9   4  sender index again
//	 36   1  offered ciphers            13   4  protocol
//	 37   4  protocol                   17   1  features
//	 41   1  features                   18   3  zero, not read
//	 42   3  zero, not read
//
// The headers are authenticated. The Noise prologue is "srdtun handshake v2" followed by the
// first eight bytes of the initiation. In the response's header, only a single value of each of
// the other fields is accepted: the type, the reserved bytes and the receiver index. The sender
// index is repeated in the sealed answer. So an attacker on the path cannot make two peers
// agree on keys and disagree on the index that selects the keys.
//
// A response is never longer than an initiation, and a cookie reply is never longer than the
// packet that caused it. So no packet amplifies traffic.
//
// # Order of checks at a receiver
//
//	Kind             length, version, type, reserved bytes
//	CheckMAC1        a keyed hash: the sender knows our public key
//	CheckMAC2        only under load: without it answer with CookieReply
//	Receive          two Diffie-Hellman operations, out of a budget
//	CheckToken       is the hello's token fresh?
//	Replay.Accept    if it refuses and NeedsCookie: answer with CookieReply,
//	                 at a limited rate
//	Respond          state is consumed, keys exist
//
// The initiator checks a response by Kind and CheckMAC1, and under load also by CheckMAC2. If
// there is no valid mac2, it answers with CookieReply. A responder that gets a cookie reply
// sends its response again, with mac2 by Restamp, to the source of that reply. The initiator
// finds the attempt of a response by ReceiverIndex and calls Attempt.Consume, within a budget
// like the one for Receive. Both ends pass a cookie reply to Stamper.ConsumeCookie only if the
// reply's source is a destination of the packet to which it is the reply.
//
// # Keys
//
// Noise's Split yields one secret for each direction. HKDF expands each secret. The first 32
// bytes of HKDF's output are the direction's AEAD key, and the next 12 bytes are the IV that is
// XORed into nonces:
//
//	HKDF-BLAKE2s(secret, salt = handshake hash, info = "srdtun v2 data" | cipher | direction)
//
// The cipher and the direction are one byte each. The direction is 1 from initiator to
// responder, and 2 from responder to initiator. AES-128 uses the first 16 bytes of the key. An
// Attempt or an Incoming yields a Result at most once, even if packets arrive again. Two
// sessions with one key would use the same nonces twice.
//
// The caller must ensure three properties. First, a key has exactly one packet counter per path
// slot, and a slot is not reused while the key lives. Second, a Result becomes one session and
// is not copied into another session. Third, the responder must not send data under the new
// keys before it has decrypted a packet of the initiator under these keys. This packet is the
// first proof that the initiator has the keys.
//
// # Replay and wrong clocks
//
// An attacker can record the first message of Noise IK and replay it. Each replay would replace
// the responder's handshake state. WireGuard therefore requires a timestamp that is later than
// all earlier ones. WireGuard's rule locks out a peer with an earlier clock, such as a restored
// virtual machine, or a board without a battery. So in srdtun a hello contains either a
// timestamp or a token, never both. The token is
//
//	MAC(MAC(cookie, "srdtun token"), e)      cookie = MAC(secret, source)
//
// The secret is the responder's cookie secret, and e is the initiation's ephemeral public key.
// An initiation with a valid token is not older than the secret, for four reasons.
//
//  1. The secret is 32 random bytes drawn by this process. The process accepts the secret for
//     120 s and then never again. Only one secret is accepted at a time.
//  2. The token stands in the sealed hello, and the seal covers e. The seal's keys need the
//     private static key of the initiator or of the responder. Nobody else can put a new token
//     into an old initiation.
//  3. An initiation made before the secret was drawn holds a token that is independent of
//     the secret, and passes with probability 2^-128. So the peer itself made any initiation
//     that passes, within the life of the secret, with the cookie for that source. The
//     initiation may have been delivered by anyone.
//  4. Within the life of one secret Replay remembers every accepted token, so the same
//     initiation passes once. The memory is bounded: after tokensPerSecret tokens, token hellos
//     are refused until the next secret.
//
// The highest accepted timestamp of a peer never decreases. If a token lowered the accepted
// timestamp, every recorded initiation between the new and the old time would be acceptable
// again without a token. A peer with a slow clock uses a token at each handshake, and needs one
// more round trip for each handshake.
//
// A sender can get a cookie even if the responder is not under load. If an initiation can be
// decrypted but has a stale timestamp, the responder answers with CookieReply, at a limited
// rate. The sender soon makes one more attempt in parallel with the current one. For the next
// 120 s, the stamper returns a nonzero token:
//
//	h.Token = stamper.Token(now)
//
// With a nonzero token, Initiate makes a hello without a timestamp. In all other attempts Token
// is zero, and the hello contains the timestamp. A timestamp is valid on every path, and also
// for a responder that has restarted.
//
// A cookie is valid only for the address and port to which it was sent. If copies of an
// initiation with a token were sent on many paths, only those from this address and port would
// be accepted. So the attempt with the token uses only the path of the cookie reply, which has
// just worked in both directions.
//
// An attacker who sees our packets and has the responder's public key can forge cookie replies,
// as in WireGuard. So a sender only stores the cookie, and changes nothing else. The attempt
// that caused the reply continues until its own timeout, with its timestamp and on all of its
// paths. At most one more attempt runs in parallel.
//
// A responder that restarts has lost the timestamps, again as in WireGuard. So it accepts a
// replayed initiation once more. The attacker cannot use the response, and gets no data either,
// because the responder sends no data before it has decrypted a packet of the initiator.
package handshake
