package handshake_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata")

// TestGoldenTranscript compares every byte on the wire and the data keys with a stored
// transcript. The packets are an initiation, its cookie reply, an initiation with a token,
// and the response.
func TestGoldenTranscript(t *testing.T) {
	p := newPair(t)
	p.psk[0] = 1
	var out bytes.Buffer
	fmt.Fprintf(&out, "initiator %x\nresponder %x\n", p.a.Public(), p.b.Public())
	_, msg := p.initiate(p.hello())
	fmt.Fprintf(&out, "initiation %x\n", msg)
	reply := p.checkB.CookieReply(p.rng, p.now, msg, p.sourceA)
	fmt.Fprintf(&out, "cookie reply for %v %x\n", p.sourceA, reply)
	must(t, p.stampA.ConsumeCookie(p.now, reply))
	hello := p.hello()
	hello.Token = p.stampA.Token(p.now)
	attempt, msg := p.initiate(hello)
	fmt.Fprintf(&out, "initiation with token %x\n", msg)
	in, ok := p.accept(msg, p.sourceA)
	if !ok {
		t.Fatal("refused")
	}
	rb, response := p.respond(in, p.psk)
	fmt.Fprintf(&out, "response %x\n", response)
	ra, err := attempt.Consume(response)
	must(t, err)
	wantAgree(t, ra, rb)
	fmt.Fprintf(&out, "%v key to responder %x iv %x\n%v key to initiator %x iv %x\n", ra.Cipher, ra.Send.Key[:], ra.Send.IV[:], rb.Cipher, rb.Send.Key[:], rb.Send.IV[:])
	hello = p.hello()
	hello.Protocol = 0x01020304
	attempt, msg = p.initiate(hello)
	fmt.Fprintf(&out, "initiation of protocol %08x %x\n", hello.Protocol, msg)
	in = p.receive(msg)
	in.Protocol = 0x05060708
	_, response = p.respond(in, p.psk)
	fmt.Fprintf(&out, "response of protocol %08x %x\n", in.Protocol, response)
	if r, err := attempt.Consume(response); err != nil || r.Hello.Protocol != in.Protocol || in.Hello.Protocol != hello.Protocol {
		t.Fatalf("protocols %08x and %08x, %v", r.Hello.Protocol, in.Hello.Protocol, err)
	}
	wantGolden(t, "testdata/transcript.golden", out.Bytes())
}

func wantGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		must(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Fatalf("%s differs; run with -update if that is meant\n got:\n%s\nwant:\n%s", path, got, want)
	}
}
