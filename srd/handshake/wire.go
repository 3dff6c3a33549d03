package handshake

import "encoding/binary"

// Version is the protocol version, in the high nibble of every first byte.
const Version = 2

// The low nibble of every first byte is the packet type.
const (
	TypeInitiation = 1
	TypeResponse   = 2
	TypeCookie     = 3
	TypeData       = 4
)

const (
	keySize    = 32 // X25519 keys, BLAKE2s keys, AEAD keys
	tagSize    = 16 // Poly1305
	macSize    = 16 // mac1, mac2, cookie and token: BLAKE2s-128
	macsSize   = 2 * macSize
	headerSize = 4 // first byte and three reserved bytes
	indexSize  = 4
	nonceSize  = 24 // XChaCha20
	protoSize  = 4  // protocol above the transport
	spareSize  = 3  // reserved; zero and ignored in version 2

	helloSize  = TimestampSize + macSize + 8 + 1 + protoSize + 1 + spareSize
	answerSize = 8 + 1 + indexSize + protoSize + 1 + spareSize

	// The Noise message of an initiation has the ephemeral key e, the sealed static key s and
	// the sealed payload. The Noise message of a response has e and the sealed payload.
	initiationNoiseSize = keySize + keySize + tagSize + helloSize + tagSize
	responseNoiseSize   = keySize + answerSize + tagSize

	initiationNoiseAt = headerSize + indexSize
	responseNoiseAt   = headerSize + 2*indexSize
	cookieNonceAt     = headerSize + indexSize
	cookieSealedAt    = cookieNonceAt + nonceSize
)

// InitiationSize, ResponseSize and CookieSize are the sizes of the packets in bytes. A packet of
// any other length is refused.
const (
	InitiationSize = initiationNoiseAt + initiationNoiseSize + macsSize
	ResponseSize   = responseNoiseAt + responseNoiseSize + macsSize
	CookieSize     = cookieSealedAt + macSize + tagSize
)

// The next two constants do not compile if a response or cookie reply is longer than the packet
// that causes it. A longer one would amplify traffic towards a forged source address.
const (
	_ uint = InitiationSize - ResponseSize
	_ uint = ResponseSize - CookieSize
)

// Kind returns TypeInitiation, TypeResponse or TypeCookie if msg has that type's version, length
// and zero reserved bytes. Otherwise Kind returns 0; this includes data packets, which do not
// belong to this package. Other functions of this package do not check lengths.
func Kind(msg []byte) int {
	if len(msg) < headerSize || msg[0]>>4 != Version || msg[1]|msg[2]|msg[3] != 0 {
		return 0
	}
	switch kind := int(msg[0] & 0x0f); {
	case kind == TypeInitiation && len(msg) == InitiationSize,
		kind == TypeResponse && len(msg) == ResponseSize,
		kind == TypeCookie && len(msg) == CookieSize:
		return kind
	}
	return 0
}

// HasCookie reports whether the mac2 of an initiation or response is set. Without a cookie, mac2
// is zero.
func HasCookie(msg []byte) bool {
	return len(msg) >= macSize && [macSize]byte(msg[len(msg)-macSize:]) != [macSize]byte{}
}

// SenderIndex returns the index that the sender of an initiation or response chose for itself.
// For any other packet, SenderIndex returns false.
func SenderIndex(msg []byte) (uint32, bool) {
	switch Kind(msg) {
	case TypeInitiation, TypeResponse:
		return binary.BigEndian.Uint32(msg[headerSize:]), true
	}
	return 0, false
}

// ReceiverIndex returns the receiver index of a response or cookie reply, and false for any
// other packet. The index usually belongs to an attempt of this host. In a cookie reply to a
// response, the index belongs to a responder's session.
func ReceiverIndex(msg []byte) (uint32, bool) {
	switch Kind(msg) {
	case TypeResponse:
		return binary.BigEndian.Uint32(msg[headerSize+indexSize:]), true
	case TypeCookie:
		return binary.BigEndian.Uint32(msg[headerSize:]), true
	}
	return 0, false
}

// appendHeader appends the first byte for the packet type `kind`, the reserved bytes and the
// indices.
func appendHeader(b []byte, kind byte, indices ...uint32) []byte {
	b = append(b, Version<<4|kind, 0, 0, 0)
	for _, index := range indices {
		b = binary.BigEndian.AppendUint32(b, index)
	}
	return b
}
