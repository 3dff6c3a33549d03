package host

import (
	"strings"
	"testing"

	"github.com/srdtun/srdtun/sim/net"
)

// The audit detects a nonce that is used twice, keys that are used for too long, and a
// packet that is accepted twice.
func TestAuditOfKeys(t *testing.T) {
	packet := func(pn byte) []byte {
		b := make([]byte, 64)
		b[0], b[15] = 0x24, pn
		return b
	}
	for name, breach := range map[string]func(*Audit){
		"after 7": func(a *Audit) {
			a.Sealed(0, 1, packet(7), &Config{})
			a.Sealed(0, 1, packet(7), &Config{})
		},
		"old": func(a *Audit) {
			a.Sealed(0, 1, packet(7), &Config{})
			a.engine.Run(2*keyLife, nil)
			a.Sealed(0, 1, packet(8), &Config{})
		},
		"again": func(a *Audit) {
			a.Taken(0, 1, 2, 3)
			a.Taken(0, 1, 2, 4)
			a.Taken(0, 1, 2, 3)
		},
		"left out": func(a *Audit) {
			a.Sealed(0, 1, packet(7), &Config{})
			a.Sealed(0, 1, packet(9), &Config{})
			a.Believed(0, 1, net.Trap{Slot: 0, Above: 9})
		},
	} {
		a := NewAudit(net.NewEngine(1, nil))
		if breach(a); a.Err() == nil || !strings.Contains(a.Err().Error(), name) {
			t.Errorf("%q: %v", name, a.Err())
		}
	}
}

// A packet that was sent and lost does not count as skipped, whatever its keys are.
func TestAuditOfLostPackets(t *testing.T) {
	b := make([]byte, 64)
	b[0] = 0x24
	a := NewAudit(net.NewEngine(1, nil))
	for i, index := range []byte{1, 2, 2} {
		b[4], b[15] = index, byte(7+i)
		a.Sealed(0, 1, b, &Config{})
	}
	for _, above := range []uint64{0, 8, 9, 10} {
		a.Believed(0, 1, net.Trap{Above: above})
	}
	if a.Err() != nil {
		t.Error(a.Err())
	}
}
