package control

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/events"
)

// storied is a handler that implements EventSource.
type storied struct {
	*recorder
	log events.Log
}

func (s *storied) Events(after uint64) Happened {
	v, missed := s.log.After(after)
	return Happened{Run: "one", Missed: missed, Last: s.log.Last(), Events: v}
}

func TestEvents(t *testing.T) {
	runDir(t)
	h := &storied{recorder: newRecorder()}
	now := time.Date(2026, 3, 1, 3, 0, 0, 5000, time.UTC)
	for i := range events.Kept + 10 {
		h.log.Add(events.Event{
			Time: now.Add(time.Duration(i) * time.Minute), Kind: events.PeerSilent, Peer: "far",
			Text: strings.Repeat("t", 400), Attributes: map[string]string{"for": "5s"},
		})
	}
	start(t, "srde0", h)
	c, err := Dial(rundir.Place{Device: "srde0"})
	must(t, err)
	defer c.Close()
	all, err := c.Events(0)
	if err != nil || len(all.Events) != events.Kept || all.Missed != 10 || all.Last != events.Kept+10 || all.Run != "one" {
		t.Fatalf("all: %d events, %+v, %v", len(all.Events), all, err)
	}
	few, err := c.Events(events.Kept + 8)
	if err != nil || len(few.Events) != 2 || few.Missed != 0 {
		t.Fatalf("the last two: %+v, %v", few, err)
	}
	want, _ := h.log.After(events.Kept + 8)
	if !reflect.DeepEqual(few.Events, want) {
		t.Errorf("got %+v\nwant %+v", few.Events, want)
	}
	none, err := c.Events(events.Kept + 10)
	if err != nil || none.Events == nil || len(none.Events) != 0 {
		t.Errorf("after the last: %+v, %v", none, err)
	}
}

// A handler that keeps no events replies with an error, and serves further requests.
func TestNoEvents(t *testing.T) {
	runDir(t)
	start(t, "srde1", newRecorder())
	c, err := Dial(rundir.Place{Device: "srde1"})
	must(t, err)
	defer c.Close()
	if _, err := c.Events(0); err == nil || !strings.Contains(err.Error(), "no events") {
		t.Errorf("error %v", err)
	}
	if _, err := c.Version(); err != nil {
		t.Error(err)
	}
}
