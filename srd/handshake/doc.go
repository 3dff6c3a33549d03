// Package handshake agrees on the keys of one epoch between two peers:
// Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s, guarded by the two MACs and the
// cookies of WireGuard (Donenfeld, "WireGuard: Next Generation Kernel Network
// Tunnel", sections 5.3, 5.4.4 and 5.4.7).
//
// The package is pure. Time and randomness are arguments, nothing here starts
// a goroutine, and no type is safe for concurrent use: the driver owns the
// lock. Whoever owns a peer drives that peer's attempts from one goroutine.
//
// # Wire
//
// All integers are big endian. The first byte of every packet holds the type
// in its low nibble and the version in its high nibble. The reserved bytes
// after it are zero and checked.
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
// The headers are authenticated. The first eight bytes of the initiation are
// part of the Noise prologue, "srdtun handshake v2" followed by those bytes.
// Of the response's header the type, the reserved bytes and the receiver index
// have only one acceptable value, and the sender index is repeated inside the
// sealed answer. So nobody on the path can make two peers agree on keys while
// they disagree on the index that selects them.
//
// A response is never longer than an initiation and a cookie reply never
// longer than what caused it, so none of them amplifies.
//
// # Order of checks at a receiver
//
//	Kind             length, version, type, reserved bytes
//	CheckMAC1        a keyed hash, which a sender that does not know our
//	                 public key cannot make
//	CheckMAC2        only under load: without it answer with CookieReply
//	Receive          two Diffie-Hellman operations, out of a budget
//	CheckToken       is the hello's token fresh?
//	Replay.Accept    if it refuses and NeedsCookie: answer with CookieReply,
//	                 at a limited rate
//	Respond          state is consumed, keys exist
//
// The initiator does Kind, CheckMAC1, CheckMAC2 under load (without it it answers
// with CookieReply; the responder sends its response again, Restamped, to where the
// reply came from), then finds the attempt by ReceiverIndex and calls
// Attempt.Consume out of a budget like that of Receive. For a cookie reply it is
// Stamper.ConsumeCookie, if it comes from where the packet was sent that it answers.
//
// # Keys
//
// Noise's Split gives one secret per direction. The AEAD key of a direction and
// the IV that is XORed into its nonces are the first 32 and the next 12 bytes of
//
//	HKDF-BLAKE2s(secret, salt = handshake hash, info = "srdtun v2 data" | cipher | direction)
//
// with cipher and direction one byte each; direction is 1 from initiator to
// responder and 2 back. AES-128 uses the first 16 bytes of the key. An Attempt yields a
// Result at most once and so does an Incoming, whatever arrives again, because
// two sessions over one key would count the same nonces twice. The other half
// of that promise is the caller's: a key has exactly one packet counter per
// path slot, a slot is not reused while the key lives, and a Result is turned
// into a session once and not copied into a second one. The responder must not
// send data under the new keys before a packet of the initiator has opened
// under them, since until then nothing proves that the initiator has the keys.
//
// # Replay, wrong clocks, and why a token is fresh
//
// The first message of Noise IK can be recorded and played again, and would
// each time displace the responder's state. WireGuard refuses it by demanding a
// timestamp above all seen before, which locks out a peer whose clock went
// back: a restored virtual machine, a board without a battery. Here a hello
// therefore carries a timestamp or a token, never both. A token is
//
//	MAC(MAC(cookie, "srdtun token"), e)      cookie = MAC(secret, source)
//
// where secret is the responder's cookie secret and e the initiation's
// ephemeral public key. Accepting it proves that the initiation is not older
// than the secret, as follows.
//
//  1. The secret is 32 random bytes drawn by this process. It is accepted for
//     120 s and then never again; only one secret is accepted at a time.
//  2. The token stands in the sealed hello, under keys that need the private
//     static key of the initiator or of the responder, and the seal covers e.
//     Nobody else can put a new token into an old initiation.
//  3. An initiation made before the secret was drawn holds a token that is
//     independent of it, and passes with probability 2^-128. What passes was
//     thus made by the peer itself, within the life of the secret, with the
//     cookie for that source in its hands. Who handed it over does not matter.
//  4. Within the life of one secret Replay remembers every token it accepted,
//     so the same initiation passes once. The memory is bounded: past
//     tokensPerSecret token hellos are refused until the next secret.
//
// Timestamps seen are never lowered. If a token reset the clock of a peer,
// every recorded initiation between the new and the old time would be
// acceptable again without a token. A peer whose clock is behind takes the
// token path at each handshake, which costs it one round trip more.
//
// How a sender comes to have a cookie when the responder is not under load: the
// responder answers an initiation that opens but has a stale timestamp with
// CookieReply, at a limited rate. The sender then makes one more attempt beside the
// one under way, soon, and
//
//	h.Token = stamper.Token(now)
//
// is nonzero for the next 120 s and makes Initiate send a token hello, without a
// timestamp. All other attempts leave Token zero and send the timestamp, which is good
// on every path and also at a responder that has restarted.
//
// A cookie belongs to the address and port it was delivered to, so of the copies
// of one initiation sent over many paths only the ones that leave there pass.
// The attempt with the token goes out on that path alone, which has just carried a
// round trip. Somebody who sees our packets and knows the responder's public key can
// make false cookie replies, as in WireGuard. So a cookie is only kept: the attempt
// that it answers lives until its own time is over, with its timestamp and on all of
// its paths, and has one more beside it at most.
//
// A responder that restarts has forgotten the timestamps, again as in WireGuard:
// a recorded initiation is then accepted once. Whoever plays it cannot use the
// response, and no data is sent to him, by the rule at the end of "Keys".
package handshake
