package ep

import (
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/srd"
)

// program is an example in docs/wire.md: a name, an immediate and a payload.
var program = regexp.MustCompile(`(?m)^    program ([A-Z]+) +([0-9a-f ]+)$`)

func TestExamplesOfTheDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, m := range program.FindAllStringSubmatch(string(text), -1) {
		want[m[1]] = strings.ReplaceAll(m[2], " ", "")
	}
	place := string(Remote{Key: 0x0123456789abcdef, Offset: 4096}.append(nil))
	row := appendAnswer(appendAnswer(nil, 7, granted), 8, accepted)
	for _, x := range []struct {
		name string
		h    header
		data string
	}{
		{"PIECE", header{kind: kindPiece, flags: flagSolicited, number: 7, total: 8195, at: 8192, size: 3}, "srd"},
		{"REST", header{kind: kindRest, flags: flagSolicited, number: 7, total: 8195, at: 8192, size: 3}, ""},
		{"ANSWERS", header{kind: kindAnswer, ready: 1}, string(row)},
		{"WRITE", header{kind: kindPiece, flags: flagWrite, number: 9, total: 3, size: 3}, place + "srd"},
		{"READ", header{kind: kindRead, number: 10, total: 3}, place},
		{"REPLY", header{kind: kindReply, number: 10, total: 3, size: 3}, "srd"},
	} {
		var b srd.Imm
		x.h.put(&b)
		if got := hex.EncodeToString(append(b[:], x.data...)); got != want[x.name] {
			t.Errorf("%s is %s, the document says %s", x.name, got, want[x.name])
		}
		if h, ok := parse(&b, len(x.data), false); !ok || h != x.h {
			t.Errorf("%s parses as %+v, %v; want %+v", x.name, h, ok, x.h)
		}
	}
	if len(want) != 6 {
		t.Errorf("%d examples in the document, want 6", len(want))
	}
}
