package srd

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// The files of testdata/loss are transcripts of a Conn: the acknowledgements of its peer,
// the passing of time, and all packets that the Conn sends. Each shows one rule of loss
// detection and repair (docs/transport.md). After a change of the code, go test ./srd -run
// TestTranscripts -rewrite writes them again, and their diff shows the effect of the change.
// Their commands are
//
//	new paths=N               N paths with measured round trips of a millisecond
//	send messages=N path=P    the application has N messages, the policy prefers path P
//	train messages=N path=P   the same, and all are sent as one train
//	ack path=P packets=(…)    the peer has received these packets of path P
//	wait TIME                 TIME passes without a packet from the peer
//	paths                     show the state of each path
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/loss", func(t *testing.T, file string) {
		tr := &transcript{}
		datadriven.RunTest(t, file, tr.command)
	})
}

// transcript is the state of one transcript.
type transcript struct {
	*script
	zero   mono.Time // when the transcript began
	first  []uint64  // the packet number of each path that is shown as 0
	shown  int       // number of packets of script.sent that were shown
	states []PathState
}

// tripOf is the round trip of the paths in transcripts.
const tripOf = time.Millisecond

func (tr *transcript) command(t *testing.T, d *datadriven.TestData) string {
	number := func(key string) (n int) { d.ScanArgs(t, key, &n); return n }
	switch d.Cmd {
	case "new":
		tr.begin(t, number("paths"))
	case "send":
		tr.pin.on, tr.left = number("path"), number("messages")
		tr.pump()
	case "train":
		tr.sendTrain(number("messages"), number("path"))
	case "ack":
		var pns []uint64
		d.ScanArgs(t, "packets", &pns)
		slot := number("path")
		for i := range pns {
			pns[i] += tr.first[slot]
		}
		tr.arrive(uint16(slot), 100, wire.AppendAck(nil, 0, 0, []wire.Record{got(uint16(slot), pns...)}, nil))
		tr.pump()
	case "wait":
		long, err := time.ParseDuration(d.CmdArgs[0].Key)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		tr.wait(long)
	case "paths":
		return tr.paths()
	default:
		d.Fatalf(t, "no such command")
	}
	tr.wantSound(t)
	return tr.news()
}

// begin makes a Conn with n measured paths.
func (tr *transcript) begin(t *testing.T, n int) {
	tr.script = newScript(t, n)
	for range 16 {
		for slot := range n {
			v := tr.script.send(1, slot)
			tr.wait(tripOf)
			tr.arrive(uint16(slot), 100, wire.AppendAck(nil, tr.c.recovery.out.next, 0, []wire.Record{got(uint16(slot), v[0].pn)}, nil))
			tr.pump()
		}
	}
	tr.zero, tr.shown = tr.now, len(tr.sent)
	tr.first, tr.states = nil, nil
	for _, p := range tr.c.paths.table {
		tr.first, tr.states = append(tr.first, p.sent.Next()), append(tr.states, p.state)
	}
}

// news returns the packets that were sent since its last call, and the paths whose state has
// changed.
func (tr *transcript) news() string {
	var b strings.Builder
	for _, p := range tr.sent[tr.shown:] {
		fmt.Fprintf(&b, "%5.1f ms  path %d, packet %d: %s\n", ms(p.at.Sub(tr.zero)), p.slot, p.pn-tr.first[p.slot], tr.contents(&p))
	}
	tr.shown = len(tr.sent)
	for _, p := range tr.c.paths.table {
		if p.state != tr.states[p.slot] {
			fmt.Fprintf(&b, "path %d is %v\n", p.slot, p.state)
			tr.states[p.slot] = p.state
		}
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

// contents describes the frames of a packet. Message numbers are relative to the first one
// of the transcript.
func (tr *transcript) contents(p *sent) string {
	var v []string
	for _, f := range p.frames {
		switch n := int64(f.Number) - int64(len(tr.first)*16); f.Kind {
		case wire.KindMessage:
			v = append(v, fmt.Sprint("message ", n))
		case wire.KindTombstone:
			v = append(v, fmt.Sprint("message ", n, " is void"))
		case wire.Pad:
		case wire.KindPing:
			v = append(v, "ping")
		case wire.KindChallenge:
			v = append(v, "challenge")
		case wire.KindAck:
			v = append(v, "acknowledgement")
		default:
			v = append(v, fmt.Sprint("frame ", f.Kind))
		}
	}
	return strings.Join(v, ", ")
}

// paths describes all paths, one on each line.
func (tr *transcript) paths() string {
	var b strings.Builder
	for _, p := range tr.c.paths.table {
		fmt.Fprintf(&b, "path %d: %v, %d bytes in flight, %d packets taken for lost, of which %d came, threshold %d\n",
			p.slot, p.state, p.inflight, p.stats.Lost, p.stats.Spurious, p.reorder)
	}
	return b.String()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
