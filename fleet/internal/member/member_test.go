package member

import "testing"

// An address without a port, as Kubernetes provides it, is accepted for both address families.
func TestAddressOfANode(t *testing.T) {
	s := Self{Port: 51821}
	for text, want := range map[string]string{
		"192.0.2.7": "192.0.2.7:51821", "192.0.2.7:1": "192.0.2.7:1", "2001:db8::7": "[2001:db8::7]:51821", "[fd00::1]:51820": "[fd00::1]:51820",
	} {
		if e, err := s.endpoint(text); err != nil || e.String() != want {
			t.Errorf("%s: %v, %v", text, e, err)
		}
	}
	for text, want := range map[string]string{
		"fd00::1:51820": `"fd00::1:51820" is not an address with a port; write [fd00::1]:51820`,
		"node7:51820":   `"node7:51820" is not an address with a port`,
		"node7":         `"node7" is not an address with a port`,
		"::1":           `"[::1]:51821" is not an address of another host`,
	} {
		if _, err := s.endpoint(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
