package handshake

import "errors"

// Errors that network input can cause are constants without detail, one for each named drop
// reason.
var (
	// ErrMalformed means that the length, version, type or reserved bytes are wrong for the
	// call.
	ErrMalformed = errors.New("handshake: malformed packet")
	// ErrIndex means that a response belongs to another attempt. ErrIndex also means that the
	// clear and the sealed sender index of a response differ.
	ErrIndex = errors.New("handshake: wrong index")
	// ErrAuth means that the Noise message does not open. The reason may be a wrong static or
	// preshared key, a changed message, or a Diffie-Hellman result of all zeros.
	ErrAuth = errors.New("handshake: authentication failed")
	// ErrHello means that the hello opens but has both a timestamp and a token.
	ErrHello = errors.New("handshake: hello with both timestamp and token")
	// ErrCipher means that there is no common cipher, or that the responder chose a cipher that
	// was not offered.
	ErrCipher = errors.New("handshake: no common cipher")
	// ErrCookie means that the cookie reply does not open, or answers no packet of this host.
	ErrCookie = errors.New("handshake: bad cookie reply")
	// ErrConsumed means that the attempt or incoming handshake has already returned its result.
	ErrConsumed = errors.New("handshake: state already consumed")
	// ErrPrivateKey means that the private key is all zeros, which means "no key" in wg's tools.
	ErrPrivateKey = errors.New("handshake: private key is all zeros")
	// ErrRemoteKey means that the remote public key is a point of low order, for which every
	// Diffie-Hellman result is zero.
	ErrRemoteKey = errors.New("handshake: remote public key has low order")
	// ErrSpelling means that the bytes of a public key are a number not below 2^255-19.
	ErrSpelling = errors.New("handshake: public key is not below 2^255-19")
)
