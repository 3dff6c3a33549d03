package handshake

// Respelled returns the identity with the other encoding of its public key.
func (id *Identity) Respelled() *Identity {
	other := *id
	other.public[31] |= 0x80
	other.static.Public = other.public[:]
	return &other
}
