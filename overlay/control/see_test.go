package control

import (
	"context"
	"errors"
	"testing"
	"time"
)

// Flows implements Seer. The peer's name in its flow is the duration of the count.
func (r *recorder) Flows(_ context.Context, d time.Duration) (Flows, error) {
	return Flows{Interface: "srd0", OverUs: d.Microseconds()}, nil
}

// Ping implements Seer.
func (r *recorder) Ping(_ context.Context, peer string, every bool) (Pings, error) {
	if peer == "" {
		return Pings{}, errors.New("no peer is named \"\"")
	}
	v := Pings{Peer: peer}
	if every {
		v.Paths = []Ping{{Slot: 1, RTTUs: 250}}
	}
	return v, nil
}

// Whatever time a request asks for, the daemon limits how long it counts flows.
func TestFlowsAreCountedWithinBounds(t *testing.T) {
	runDir(t)
	start(t, "srd0", newRecorder())
	c := dial(t, "srd0")
	for asked, want := range map[time.Duration]time.Duration{
		time.Second: time.Second, 0: FlowsLeast, -time.Hour: FlowsLeast, time.Hour: FlowsMost,
	} {
		v, err := c.Flows(asked)
		if err != nil || v.OverUs != want.Microseconds() || v.Flows == nil || v.Schema != Schema {
			t.Errorf("for %v: %+v, %v", asked, v, err)
		}
	}
}

func TestPing(t *testing.T) {
	runDir(t)
	start(t, "srd0", newRecorder())
	c := dial(t, "srd0")
	if v, err := c.Ping("hub", true); err != nil || v.Peer != "hub" || len(v.Paths) != 1 || v.Paths[0].RTTUs != 250 {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err := c.Ping("hub", false); err != nil || v.Paths == nil {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := c.Ping("", false); err == nil || err.Error() != `srd0: no peer is named ""` {
		t.Errorf("no peer: %v", err)
	}
}
