package handshake

import "errors"

// Errors of this package. The errors that network input can cause are constants without
// detail, one for each named drop reason.
var (
	// ErrMalformed: the length, version, type or reserved bytes are wrong for the call.
	ErrMalformed = errors.New("handshake: malformed packet")
	// ErrIndex: a response to another attempt, or a response whose clear
	// sender index is not the sealed one.
	ErrIndex = errors.New("handshake: wrong index")
	// ErrAuth: the Noise message does not open. The static key or preshared key is wrong,
	// the message was altered, or a Diffie-Hellman result is all zeros.
	ErrAuth = errors.New("handshake: authentication failed")
	// ErrHello: the hello opens, but it contradicts itself.
	ErrHello = errors.New("handshake: hello with both timestamp and token")
	// ErrCipher: no cipher in common, or the responder chose one that was not offered.
	ErrCipher = errors.New("handshake: no common cipher")
	// ErrCookie: the cookie reply does not open, or answers no packet of ours.
	ErrCookie = errors.New("handshake: bad cookie reply")
	// ErrConsumed: the attempt or incoming handshake has already given its result.
	ErrConsumed = errors.New("handshake: state already consumed")
	// ErrPrivateKey: all zeros, which stands for "no key" in wg's tools.
	ErrPrivateKey = errors.New("handshake: private key is all zeros")
	// ErrRemoteKey: the remote public key is a point of low order, which makes every
	// Diffie-Hellman result zero.
	ErrRemoteKey = errors.New("handshake: remote public key has low order")
	// ErrSpelling: the public key is another spelling of a smaller number.
	ErrSpelling = errors.New("handshake: public key is not below 2^255-19")
)
