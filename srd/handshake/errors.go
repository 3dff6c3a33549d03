package handshake

import "errors"

// Each error is a constant without detail. Errors that network input can cause correspond to
// the named drop reasons.
var (
	// ErrMalformed means that the length, version, type or reserved bytes are wrong for the
	// call.
	ErrMalformed = errors.New("handshake: malformed packet")
	// ErrIndex means that a response belongs to another attempt, or that the sender index in its
	// header and in its sealed answer differ.
	ErrIndex = errors.New("handshake: wrong index")
	// ErrAuth means that the Noise message cannot be decrypted. The reason may be a wrong static
	// or preshared key, a changed message, or a Diffie-Hellman result of all zeros.
	ErrAuth = errors.New("handshake: authentication failed")
	// ErrHello means that the decrypted hello has both a timestamp and a token.
	ErrHello = errors.New("handshake: hello with both timestamp and token")
	// ErrCipher means that there is no common cipher, or that the responder chose a cipher that
	// was not offered.
	ErrCipher = errors.New("handshake: no common cipher")
	// ErrCookie means that the cookie reply cannot be decrypted, or is no reply to a packet of
	// this host.
	ErrCookie = errors.New("handshake: bad cookie reply")
	// ErrConsumed means that the attempt or incoming handshake has already returned its result.
	ErrConsumed = errors.New("handshake: state already consumed")
	// ErrPrivateKey means that the private key is all zeros, which means "no key" in wg's tools.
	ErrPrivateKey = errors.New("handshake: private key is all zeros")
	// ErrRemoteKey means that the remote public key is a point of low order, for which every
	// Diffie-Hellman result is zero.
	ErrRemoteKey = errors.New("handshake: remote public key has low order")
	// ErrSpelling means that the bytes of a public key, as a number, are 2^255-19 or more.
	ErrSpelling = errors.New("handshake: public key is not below 2^255-19")
)
