package handshake

import "errors"

// Errors of this package. Those that network input can cause are constants
// without detail, one for each named reason to drop a packet.
var (
	// ErrMalformed: not the length, version, type or reserved bytes of the
	// packet that the call is for.
	ErrMalformed = errors.New("handshake: malformed packet")
	// ErrIndex: a response to another attempt, or a response whose clear
	// sender index is not the sealed one.
	ErrIndex = errors.New("handshake: wrong index")
	// ErrAuth: the Noise message does not open: wrong static key, wrong
	// preshared key, altered, or a Diffie-Hellman result of all zeros.
	ErrAuth = errors.New("handshake: authentication failed")
	// ErrHello: it opens, but its content contradicts itself.
	ErrHello = errors.New("handshake: hello with both timestamp and token")
	// ErrCipher: no cipher in common, or the responder chose one not offered.
	ErrCipher = errors.New("handshake: no common cipher")
	// ErrCookie: a cookie reply that does not open, or that nothing asked for.
	ErrCookie = errors.New("handshake: bad cookie reply")
	// ErrConsumed: the attempt or incoming handshake has given its result.
	ErrConsumed = errors.New("handshake: state already consumed")
	// ErrPrivateKey: all zeros, which stands for "no key" in wg's tools.
	ErrPrivateKey = errors.New("handshake: private key is all zeros")
	// ErrRemoteKey: the remote public key is a point of low order, with which
	// every Diffie-Hellman result is zero.
	ErrRemoteKey = errors.New("handshake: remote public key has low order")
	// ErrSpelling: the public key is another spelling of a smaller number.
	ErrSpelling = errors.New("handshake: public key is not below 2^255-19")
)
