package wire

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// vectors reads the lines "hex NAME bytes" of docs/wire.md.
func vectors(t testing.TB) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile("../../../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	v := map[string][]byte{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != "hex" || !strings.HasPrefix(line, "    ") {
			continue
		}
		b, err := hex.DecodeString(strings.Join(f[2:], ""))
		if err != nil {
			t.Fatalf("%s: %v", f[1], err)
		}
		if v[f[1]] != nil {
			t.Fatalf("%s stands twice", f[1])
		}
		v[f[1]] = b
	}
	return v
}

// docImm is the immediate in the examples.
var docImm = Imm{0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x3b, 0x3c}

// documented returns the encoder's bytes for each example of docs/wire.md.
func documented() map[string][]byte {
	header := make([]byte, HeaderLen)
	Header{Slot: 0x0102, Index: 0xa1a2a3a4, PN: 0x1112131415161718}.Put(header)
	var nonce [NonceLen]byte
	iv := [NonceLen]byte{0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xcb}
	Nonce(&nonce, &iv, header)
	secret := Secret{0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x5b, 0x5c, 0x5d, 0x5e, 0x5f, 0x60}
	number := uint64(0x2425262728)
	record := Record{Slot: 2, Hold: uint16(100_000 / HoldUnit), Highest: 9, Below: 1<<(9-1-8) | 1<<(9-1-6), CE: 1}
	return map[string][]byte{
		"HEADER":    header,
		"NONCE":     nonce[:],
		"PAD":       {byte(Pad)},
		"MESSAGE":   AppendMessage(nil, uint32(number), &docImm, []byte("srd")),
		"ACK":       AppendAck(nil, 0x4142434445464748, 1000, []Record{record}, []uint64{1 | 1<<63}),
		"CHALLENGE": AppendSecret(nil, KindChallenge, &secret),
		"RESPONSE":  AppendSecret(nil, KindResponse, &secret),
		"CLOSE":     AppendClose(nil, 0),
		"PING":      AppendPing(nil),
		"STAMP":     AppendStamp(nil, 0x61626364),
		"METRIC":    AppendMetric(nil, 0x0102, 5),
		"HOST":      AppendHost(nil, uint16(400_000/HoldUnit)),
		"TOMBSTONE": AppendTombstone(nil, uint32(number), &docImm),
	}
}

// docs/wire.md contains exactly these examples, with the encoder's bytes.
func TestGoldenDocument(t *testing.T) {
	doc, made := vectors(t), documented()
	for name, want := range made {
		if !bytes.Equal(doc[name], want) {
			t.Errorf("%s: docs/wire.md has %x, the encoder gives %x", name, doc[name], want)
		}
	}
	for name := range doc {
		if made[name] == nil {
			t.Errorf("docs/wire.md has %s, which nothing encodes", name)
		}
	}
}

// Every frame of the document is decoded, but not if its last byte is missing.
func TestGoldenDecodes(t *testing.T) {
	for name, b := range vectors(t) {
		if name == "HEADER" || name == "NONCE" {
			continue
		}
		var f Frame
		if rest, ok := Next(b, &f); !ok || len(rest) != 0 {
			t.Errorf("%s: ok %v, %d bytes left", name, ok, len(rest))
		}
		for n := range len(b) {
			if _, ok := Next(b[:n:n], &f); ok {
				t.Errorf("%s: %d of %d bytes are taken for a frame", name, n, len(b))
			}
		}
	}
}

func TestGoldenHeader(t *testing.T) {
	b := append(vectors(t)["HEADER"], make([]byte, TagLen)...)
	if h := ParseHeader(b); !IsData(b) || h != (Header{Slot: 0x0102, Index: 0xa1a2a3a4, PN: 0x1112131415161718}) {
		t.Fatalf("%+v", h)
	}
}
