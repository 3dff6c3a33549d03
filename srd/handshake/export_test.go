package handshake

// Respelled is the identity under the second spelling of its public key.
func (id *Identity) Respelled() *Identity {
	other := *id
	other.public[31] |= 0x80
	other.static.Public = other.public[:]
	return &other
}
