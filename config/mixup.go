package config

// Each cryptographic key has one role: private, public or preshared. If a user pastes a key into
// the place of another role, a private key may be published, or a preshared key may not be secret.
// The checks in this file compare all keys of a configuration. The messages about mixed-up keys
// never contain a key.

// roles records the role of each known key.
type roles struct {
	private Secret
	own     Key
	public  map[Key]bool // public keys of peers
	shared  map[Key]bool // preshared keys of peers; the type Key is used only as an array of bytes
}

func newRoles(private Secret, own Key) *roles {
	return &roles{private: private, own: own, public: map[Key]bool{}, shared: map[Key]bool{}}
}

// add records the keys of a peer.
func (r *roles) add(p *Peer) {
	r.public[p.PublicKey] = true
	if !p.PresharedKey.IsZero() {
		r.shared[p.PresharedKey.Bytes()] = true
	}
}

// The constants are the messages for a key that has two roles.
const (
	errPrivateInPublic = "is this interface's private key: put the other end's public key there; if others may have seen the file, generate a new private key"
	errSharedInPublic  = "is also a preshared_key, so one of the two is wrong; if others may have seen it here, generate a new preshared key"
	errPrivateInShared = `is this interface's private key: generate a preshared key with "srdtun genpsk", and use it at both ends`
	errPublicInShared  = `is also a public key, and so not secret: generate a preshared key with "srdtun genpsk", and use it at both ends`
)

// wrongPublic returns a message if a peer's public key has another role too, or "".
func (r *roles) wrongPublic(p *Peer) string {
	k := p.PublicKey
	switch {
	case isPrivate(k, r.private):
		return errPrivateInPublic
	case r.shared[k] && k != p.PresharedKey.Bytes(): // if they are equal, wrongShared reports it
		return errSharedInPublic
	}
	return ""
}

// wrongShared returns a message if a peer's preshared key has another role too, or "".
func (r *roles) wrongShared(p *Peer) string {
	k := Key(p.PresharedKey.Bytes())
	switch {
	case p.PresharedKey.IsZero():
		return ""
	case isPrivate(k, r.private):
		return errPrivateInShared
	case k == r.own || k == p.PublicKey || r.public[k]:
		return errPublicInShared
	}
	return ""
}

// isPrivate reports whether a key equals the private key, either as configured or as clamped for
// X25519.
func isPrivate(k Key, private Secret) bool {
	raw := private.Bytes()
	return NewSecret(k).Equal(private) || clamped(k) == clamped(raw)
}

// Clamped returns the private key in the clamped form that `wg genkey` prints.
func (s Secret) Clamped() Secret { return NewSecret(clamped(s.Bytes())) }

// clamped returns a private key clamped for X25519 (RFC 7748, section 5).
func clamped(key [keyBytes]byte) Key {
	key[0] &= 248
	key[31] = key[31]&127 | 64
	return key
}
