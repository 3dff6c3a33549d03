package handshake

import "golang.org/x/sys/cpu"

// Hardware returns the ciphers that are fast on this CPU. With instructions for AES and
// carry-less multiplication, the ciphers are AES-256-GCM and ChaCha20-Poly1305. On other CPUs
// the only cipher is ChaCha20-Poly1305. AES in software is slow and leaks the key through the
// cache. AES-128-GCM is used only if the configuration requests it.
func Hardware() Offers {
	x86 := cpu.X86.HasAES && cpu.X86.HasPCLMULQDQ
	arm := cpu.ARM64.HasAES && cpu.ARM64.HasPMULL
	if x86 || arm {
		return OffersOf(AES256GCM, ChaCha20Poly1305)
	}
	return OffersOf(ChaCha20Poly1305)
}
