package order

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd"
)

// The example of an immediate in docs/wire.md is what the code sends, and is parsed as described
// there.
func TestGoldenImmediate(t *testing.T) {
	text, err := os.ReadFile("../../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	_, line, ok := strings.Cut(string(text), "\n    inner IMMEDIATE ")
	line, _, _ = strings.Cut(line, "\n")
	want, err := hex.DecodeString(strings.ReplaceAll(line, " ", ""))
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	h := header{slot: 0x0123, seq: 7, length: 7092, facts: frame.Facts{GSO: frame.GSOTunnelTCP4, GSOSize: 1398, CSum: true, Ordered: true}}
	var b srd.Imm
	h.put(&b)
	if b != srd.Imm(want) {
		t.Errorf("docs/wire.md has %x, sent is %x", want, b)
	}
	if got, ok := parse(&b); !ok || got != h {
		t.Errorf("%+v %v, want %+v", got, ok, h)
	}
	b[12] |= flagGSO
	if _, ok := parse(&b); ok {
		t.Error("a kind of segmentation that there is not was taken")
	}
}
