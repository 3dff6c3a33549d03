package packettest

import "testing"

// The test uses the example of RFC 1071 section 3, and data with an odd number of bytes.
func TestSum(t *testing.T) {
	b := []byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}
	if got := Sum(b); got != 0xddf2 {
		t.Errorf("%#04x, want 0xddf2", got)
	}
	if got := Sum(append(b, 0x12)); got != 0xeff2 {
		t.Errorf("%#04x, want 0xeff2", got)
	}
}
