package handshake

import "golang.org/x/sys/cpu"

// Hardware returns what this CPU is fast at: AES-256-GCM and ChaCha20-Poly1305
// if it has AES and carry-less multiplication, which the standard library's GCM
// then uses, and ChaCha20-Poly1305 alone if not: AES in software is slow and
// leaks the key through the cache. AES-128-GCM is left to configuration.
func Hardware() Offers {
	x86 := cpu.X86.HasAES && cpu.X86.HasPCLMULQDQ
	arm := cpu.ARM64.HasAES && cpu.ARM64.HasPMULL
	if x86 || arm {
		return OffersOf(AES256GCM, ChaCha20Poly1305)
	}
	return OffersOf(ChaCha20Poly1305)
}
