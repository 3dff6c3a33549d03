package msg

import (
	"bytes"
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"
)

// example is an example in docs/wire.md: a name and a frame.
var example = regexp.MustCompile(`(?m)^    tagged ([A-Z]+) +([0-9a-f ]+)$`)

func TestExamplesOfTheDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, m := range example.FindAllStringSubmatch(string(text), -1) {
		want[m[1]] = strings.ReplaceAll(m[2], " ", "")
	}
	heads := map[string]head{
		"EAGER":   {kind: kindEager, tag: 5},
		"ORDERED": {kind: kindEager, tag: 5, ordered: true, epoch: 0x1122334455667788, seq: 2, behind: 1, hasImm: true, imm: 9},
		"OFFER":   {kind: kindOffer, tag: 5, number: 3, size: 1 << 20, key: 0x0123456789abcdef},
	}
	for name, h := range heads {
		b := h.append(nil)
		if h.kind == kindEager {
			b = append(b, "srd"...)
		}
		if got := hex.EncodeToString(b); got != want[name] {
			t.Errorf("%s is %s, the document says %s", name, got, want[name])
		}
		if back, data, ok := parseHead(b); !ok || back != h || h.kind == kindEager && string(data) != "srd" {
			t.Errorf("%s parses as %+v, %q, %v", name, back, data, ok)
		}
	}
	for name, c := range map[string]control{
		"DONE": {kind: kindDone}, "UNKNOWN": {kind: kindDone, result: doneUnknown}, "PROBE": {kind: kindProbe},
		"SKIP": {kind: kindSkip, epoch: 0x1122334455667788},
	} {
		b := c.append(nil)
		if got := hex.EncodeToString(b); got != want[name] {
			t.Errorf("%s is %s, the document says %s", name, got, want[name])
		}
		if back, ok := parseControl(b, 0); !ok || back != c {
			t.Errorf("%s parses as %+v, %v", name, back, ok)
		}
	}
	if len(want) != len(heads)+4 {
		t.Errorf("%d examples in the document, want %d", len(want), len(heads)+4)
	}
}

// No frame causes a panic, and a parsed frame is encoded as the same bytes.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 5, 's'})
	f.Add(append([]byte{0xc2}, make([]byte, headMost-1+offerLen)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, ok := parseControl(b, 0); ok && !bytes.Equal(c.append(nil), b) {
			t.Fatalf("%x is %+v", b, c)
		}
		if h, data, ok := parseHead(b); ok && !bytes.Equal(append(h.append(nil), data...), b) {
			t.Fatalf("%x is %+v", b, h)
		}
	})
}
