package wire

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestDataPacketsHaveASize(t *testing.T) {
	b := make([]byte, MaxPacket+1)
	Header{}.Put(b)
	for n, want := range map[int]bool{0: false, Overhead - 1: false, Overhead: true, MaxPacket: true, MaxPacket + 1: false} {
		if IsData(b[:n]) != want {
			t.Errorf("%d bytes: %v", n, !want)
		}
	}
}

func TestHeaderRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Header{Slot: rapid.Uint16().Draw(t, "slot"), Index: rapid.Uint32().Draw(t, "index"), PN: rapid.Uint64().Draw(t, "pn")}
		b := bytes.Repeat([]byte{0xff}, Overhead)
		want.Put(b)
		if got := ParseHeader(b); got != want || !IsData(b) {
			t.Fatalf("%+v came back as %+v, data %v", want, got, IsData(b))
		}
	})
}

// Two packets have the same nonce only if path slot and packet number are equal.
func TestNonceIsSlotAndNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		iv := [NonceLen]byte(rapid.SliceOfN(rapid.Byte(), NonceLen, NonceLen).Draw(t, "iv"))
		draw := func(label string) (h Header, n [NonceLen]byte) {
			h = Header{Slot: rapid.Uint16Range(0, 3).Draw(t, label), Index: rapid.Uint32().Draw(t, label), PN: rapid.Uint64Range(0, 3).Draw(t, label) << 32}
			b := make([]byte, HeaderLen)
			h.Put(b)
			Nonce(&n, &iv, b)
			return h, n
		}
		a, x := draw("a")
		b, y := draw("b")
		if same := a.Slot == b.Slot && a.PN == b.PN; same != (x == y) {
			t.Fatalf("%+v and %+v have nonces %x and %x", a, b, x, y)
		}
	})
}

// Other versions, types, flags and lengths are no data packets.
func TestIsDataIsStrict(t *testing.T) {
	good := make([]byte, Overhead)
	Header{}.Put(good)
	if !IsData(good) {
		t.Fatal("the shortest packet is refused")
	}
	if IsData(good[:Overhead-1]) || IsData(nil) {
		t.Fatal("a packet without room for a tag is accepted")
	}
	for i := range 2 {
		for bit := range 8 {
			b := slices.Clone(good)
			b[i] ^= 1 << bit
			if IsData(b) {
				t.Errorf("byte %d with bit %d flipped is accepted", i, bit)
			}
		}
	}
}

// drawn is a frame as it was passed to the encoder.
type drawn struct {
	kind    Kind
	number  uint32
	imm     Imm
	payload []byte
	first   uint64
	clock   uint32
	records []Record
	words   []uint64
	secret  Secret
	reason  uint8
	sent    uint32
	slot    uint16
	metric  uint8
	late    uint16
}

func drawFrame(t *rapid.T) drawn {
	f := drawn{kind: Kind(rapid.IntRange(int(KindMessage), int(KindHost)).Draw(t, "kind"))}
	switch f.kind {
	case KindMessage, KindTombstone:
		f.number = rapid.Uint32().Draw(t, "number")
		copy(f.imm[:], rapid.SliceOfN(rapid.Byte(), ImmLen, ImmLen).Draw(t, "immediate"))
		if f.kind == KindMessage {
			f.payload = rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "payload")
		}
	case KindAck:
		f.first, f.clock = rapid.Uint64().Draw(t, "first"), rapid.Uint32().Draw(t, "cap")
		f.records = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Record {
			return Record{
				Slot: rapid.Uint16().Draw(t, "slot"), Hold: rapid.Uint16().Draw(t, "hold"), CE: rapid.Uint32().Draw(t, "ce"),
				Highest: rapid.Uint64().Draw(t, "highest"), Below: rapid.Uint64().Draw(t, "below"),
			}
		}), 0, MaxAckRecords).Draw(t, "records")
		f.words = rapid.SliceOfN(rapid.Uint64(), 0, MaxAckWords).Draw(t, "words")
	case KindChallenge, KindResponse:
		f.secret = Secret(rapid.SliceOfN(rapid.Byte(), SecretLen, SecretLen).Draw(t, "secret"))
	case KindClose:
		f.reason = rapid.Byte().Draw(t, "reason")
	case KindStamp:
		f.sent = rapid.Uint32().Draw(t, "sent")
	case KindMetric:
		f.slot, f.metric = rapid.Uint16().Draw(t, "slot"), rapid.Byte().Draw(t, "metric")
	case KindHost:
		f.late = rapid.Uint16().Draw(t, "late")
	}
	return f
}

func (f *drawn) append(b []byte) []byte {
	switch f.kind {
	case KindMessage:
		return AppendMessage(b, f.number, &f.imm, f.payload)
	case KindTombstone:
		return AppendTombstone(b, f.number, &f.imm)
	case KindAck:
		return AppendAck(b, f.first, f.clock, f.records, f.words)
	case KindChallenge, KindResponse:
		return AppendSecret(b, f.kind, &f.secret)
	case KindClose:
		return AppendClose(b, f.reason)
	case KindStamp:
		return AppendStamp(b, f.sent)
	case KindMetric:
		return AppendMetric(b, f.slot, f.metric)
	case KindHost:
		return AppendHost(b, f.late)
	}
	return AppendPing(b)
}

// wantFrame fails unless got is equal to f.
func wantFrame(t *rapid.T, got *Frame, f *drawn) {
	ok := got.Kind == f.kind
	switch f.kind {
	case KindMessage:
		ok = ok && got.Number == f.number && got.Imm == f.imm && bytes.Equal(got.Payload, f.payload)
	case KindTombstone:
		ok = ok && got.Number == f.number && got.Imm == f.imm
	case KindAck:
		a := &got.Ack
		ok = ok && a.FirstMissing == f.first && a.Clock == f.clock && a.NumRecords() == len(f.records) && a.NumWords() == len(f.words)
		for i := 0; ok && i < len(f.records); i++ {
			ok = a.Record(i) == f.records[i]
		}
		for i := 0; ok && i < len(f.words); i++ {
			ok = a.Word(i) == f.words[i]
		}
	case KindChallenge, KindResponse:
		ok = ok && got.Secret == f.secret
	case KindClose:
		ok = ok && got.Reason == f.reason
	case KindStamp:
		ok = ok && got.Sent == f.sent
	case KindMetric:
		ok = ok && got.Slot == f.slot && got.Metric == f.metric
	case KindHost:
		ok = ok && got.Late == f.late
	}
	if !ok {
		t.Fatalf("%+v came back as %+v", f, got)
	}
}

// Any sequence of frames, with or without padding, is decoded to the same frames.
func TestFramesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := rapid.SliceOfN(rapid.Custom(drawFrame), 0, 5).Draw(t, "frames")
		var b []byte
		for i := range sent {
			b = sent[i].append(b)
		}
		pad := rapid.IntRange(0, 20).Draw(t, "padding")
		b = append(b, make([]byte, pad)...)
		var f Frame
		ok := true
		for i := range sent {
			if b, ok = Next(b, &f); !ok {
				t.Fatalf("frame %d is not read", i)
			}
			wantFrame(t, &f, &sent[i])
		}
		if len(b) != pad {
			t.Fatalf("%d bytes left of %d", len(b), pad)
		}
		if pad > 0 {
			if b, ok = Next(b, &f); !ok || len(b) != 0 || f.Kind != Pad {
				t.Fatal("padding does not swallow the rest")
			}
		}
	})
}

// Appending to a decoded payload must not overwrite the frame that follows it.
func TestPayloadHasNoRoomBehindIt(t *testing.T) {
	b := AppendPing(AppendMessage(nil, 1, &Imm{}, []byte("abc")))
	var f Frame
	if _, ok := Next(b, &f); !ok || cap(f.Payload) != 3 {
		t.Fatalf("capacity %d", cap(f.Payload))
	}
}

// Counts beyond their bounds are rejected, whatever follows.
func TestAckBounds(t *testing.T) {
	most := AppendAck(nil, 0, 0, make([]Record, MaxAckRecords), make([]uint64, MaxAckWords))
	var f Frame
	if rest, ok := Next(most, &f); !ok || len(rest) != 0 {
		t.Fatal("the largest frame is refused")
	}
	if len(most) > 1200-Overhead {
		t.Fatalf("the largest frame has %d bytes", len(most))
	}
	more := append(slices.Clone(most), make([]byte, 4096)...)
	for at, n := range map[int]byte{1: MaxAckRecords + 1, 2: MaxAckWords + 1} {
		b := slices.Clone(more)
		if b[at] = n; n > 0 {
			if _, ok := Next(b, &f); ok {
				t.Errorf("count %d in byte %d is accepted", n, at)
			}
		}
	}
}

// FuzzNext checks that nothing panics, that each frame takes at least one byte, and that
// encoding a decoded frame gives the same bytes.
func FuzzNext(f *testing.F) {
	for _, b := range documented() {
		f.Add(b)
	}
	f.Add(AppendMessage(AppendPing(AppendAck(nil, 3, 0, make([]Record, 2), []uint64{1})), 9, &docImm, []byte("x")))
	f.Fuzz(func(t *testing.T, b []byte) {
		var fr Frame
		for len(b) > 0 {
			rest, ok := Next(b, &fr)
			if !ok {
				if rest != nil {
					t.Fatal("something is left of what is no frame")
				}
				return
			}
			if len(rest) >= len(b) {
				t.Fatal("a frame of no length")
			}
			if again := encode(&fr); fr.Kind != Pad && !bytes.Equal(again, b[:len(b)-len(rest)]) {
				t.Fatalf("read %x, which would be written %x", b[:len(b)-len(rest)], again)
			}
			b = rest
		}
	})
}

// encode encodes f.
func encode(f *Frame) []byte {
	d := drawn{kind: f.Kind, number: f.Number, imm: f.Imm, payload: f.Payload, secret: f.Secret, reason: f.Reason, sent: f.Sent, slot: f.Slot, metric: f.Metric, late: f.Late}
	if f.Kind == KindAck {
		d.first, d.clock = f.Ack.FirstMissing, f.Ack.Clock
		for i := range f.Ack.NumRecords() {
			d.records = append(d.records, f.Ack.Record(i))
		}
		for i := range f.Ack.NumWords() {
			d.words = append(d.words, f.Ack.Word(i))
		}
	}
	return d.append(nil)
}

func TestFramesDoNotAllocate(t *testing.T) {
	b := make([]byte, 0, 2048)
	records, words, payload := make([]Record, 4), make([]uint64, 4), make([]byte, 1000)
	var f Frame
	sum := uint64(0)
	if a := testing.AllocsPerRun(100, func() {
		p := AppendPing(AppendAck(AppendMessage(b, 1, &docImm, payload), 2, 3, records, words))
		for ok := true; ok && len(p) > 0; {
			if p, ok = Next(p, &f); f.Kind == KindAck {
				sum += f.Ack.Record(3).Highest + f.Ack.Word(3)
			}
		}
	}); a != 0 {
		t.Fatalf("%v allocations", a)
	}
}
