package handshake

import "encoding/binary"

// Hello is the initiator's description of itself, sealed in the initiation.
type Hello struct {
	// Timestamp is the sender's wall clock time. In a hello with a token, Timestamp is zero.
	Timestamp Timestamp
	// Token proves freshness in place of the timestamp, or is zero. A caller of Initiate sets
	// Token to the value of Stamper.Token. Initiate binds the token to the ephemeral key.
	Token [16]byte
	// Incarnation is drawn at random by each process for each peer. A new incarnation means that
	// the sender has lost its state.
	Incarnation uint64
	// Offers is the set of ciphers that the sender accepts.
	Offers Offers
	// Protocol is the sender's protocol above the transport. A Protocol of zero stands for the
	// packets of a tunnel. The caller decides whether two protocols match.
	Protocol uint32
	// Features are formats that the sender can read in addition to those of the first protocol
	// version 2, one bit for each. The layer above the transport defines the bits. A receiver
	// ignores unknown bits. A peer without features sends zeros.
	Features uint8

	// secret identifies the cookie secret under which Token is valid. CheckToken sets it, so that
	// Replay detects when to clear its record of used tokens.
	secret uint64
}

// appendTo appends the wire form of the hello, which has helloSize bytes.
func (h *Hello) appendTo(b []byte) []byte {
	b = append(b, h.Timestamp[:]...)
	b = append(b, h.Token[:]...)
	b = binary.BigEndian.AppendUint64(b, h.Incarnation)
	b = append(b, byte(h.Offers))
	b = binary.BigEndian.AppendUint32(b, h.Protocol)
	b = append(b, h.Features)
	return append(b, make([]byte, spareSize)...)
}

// parseHello parses the wire form of a hello; b has helloSize bytes. A hello with both a
// timestamp and a token gives ErrHello. Otherwise a hello could be accepted because of its
// timestamp, and a replay of it because of its token, or the reverse.
func parseHello(b []byte) (Hello, error) {
	var h Hello
	copy(h.Timestamp[:], b)
	copy(h.Token[:], b[TimestampSize:])
	b = b[TimestampSize+macSize:]
	h.Incarnation = binary.BigEndian.Uint64(b)
	h.Offers = Offers(b[8])
	h.Protocol, h.Features = binary.BigEndian.Uint32(b[9:]), b[13]
	if h.Timestamp != (Timestamp{}) && h.Token != ([macSize]byte{}) {
		return Hello{}, ErrHello
	}
	return h, nil
}

// answer is the responder's description of itself, sealed in the response.
type answer struct {
	incarnation uint64
	cipher      Cipher
	index       uint32 // repeats the sender index of the header, which is authenticated only here
	protocol    uint32 // protocol of the responder, as in Hello
	features    uint8  // features of the responder, as in Hello
}

// appendTo appends the wire form of the answer, which has answerSize bytes.
func (a answer) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, a.incarnation)
	b = append(b, byte(a.cipher))
	b = binary.BigEndian.AppendUint32(b, a.index)
	b = append(binary.BigEndian.AppendUint32(b, a.protocol), a.features)
	return append(b, make([]byte, spareSize)...)
}

// parseAnswer parses the wire form of an answer; b has answerSize bytes.
func parseAnswer(b []byte) answer {
	return answer{
		incarnation: binary.BigEndian.Uint64(b),
		cipher:      Cipher(b[8]),
		index:       binary.BigEndian.Uint32(b[9:]),
		protocol:    binary.BigEndian.Uint32(b[13:]),
		features:    b[17],
	}
}
