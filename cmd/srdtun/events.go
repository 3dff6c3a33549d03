package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/internal/logline"
	"github.com/srdtun/srdtun/internal/pause"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/events"
)

type eventsFlags struct {
	follow bool
	json   bool
	since  string
}

func eventsCommand() *cobra.Command {
	var f eventsFlags
	c := &cobra.Command{
		Use:   "events NAME|FILE",
		Short: "Show the events of a running interface",
		Long: `Show the events of a running interface: sessions, silent peers, uplinks, addresses,
routes, refused strangers. The daemon keeps its newest 1,000 events; its log has
them too.

Each line is time, level, kind and text. --json prints one object a line.
--since takes a duration (10m, 36h) or a time (03:00, 2026-11-22 03:00:00).`,
		Args:              takes(1, 1),
		ValidArgsFunction: completeRunning,
		RunE: func(_ *cobra.Command, args []string) error {
			return showEvents(args[0], f, os.Stdout)
		},
	}
	c.Flags().BoolVarP(&f.follow, "follow", "f", false, "wait for more, until interrupted")
	c.Flags().BoolVar(&f.json, "json", false, "print JSON, one object a line")
	c.Flags().StringVar(&f.since, "since", "", "leave out events before this `TIME`, or older than this duration")
	return c
}

// followEvery is the interval at which events --follow polls the daemon. It opens a new connection
// for each poll, so that it does not occupy one of the daemon's few connections in between.
const followEvery = 500 * time.Millisecond

func showEvents(arg string, f eventsFlags, out io.Writer) error {
	since, err := parseSince(f.since, time.Now())
	if err != nil {
		return err
	}
	at, err := placeOf(arg)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(signalGrace)
	defer stop()
	r := eventReader{at: at, since: since, print: eventPrinter(out, f.json)}
	if f.follow && f.since == "" {
		r.atMost = followFirst
	}
	for {
		err := r.read()
		// With --follow, the command continues after a restart of the daemon.
		if err != nil && !(r.run != "" && errors.Is(err, control.ErrNotRunning)) || !f.follow {
			return err
		}
		if !pause.For(ctx, followEvery) {
			return nil
		}
	}
}

// followFirst is the number of earlier events that --follow shows first, as tail(1) does.
const followFirst = 10

// eventReader prints new events, and stores the number of the last printed event.
type eventReader struct {
	at     rundir.Place
	since  time.Time
	atMost int // largest number of events that the first call prints; 0: all
	print  func([]events.Event) error
	run    string // run of the daemon to which the number in the field last belongs
	last   uint64
}

// read prints the events since the last call.
func (r *eventReader) read() error {
	h, err := r.ask(r.last)
	if err != nil {
		return err
	}
	if r.run != "" && h.Run != r.run { // after a restart, the daemon numbers events from 1 again
		if h, err = r.ask(0); err != nil {
			return err
		}
	}
	if r.run != "" && h.Missed > 0 {
		fmt.Fprintf(os.Stderr, "srdtun: %d events were lost in between\n", h.Missed)
	}
	r.run, r.last = h.Run, h.Last
	var v []events.Event
	for _, e := range h.Events {
		if !e.Time.Before(r.since) {
			v = append(v, e)
		}
	}
	if r.atMost > 0 {
		v = v[max(0, len(v)-r.atMost):]
		r.atMost = 0
	}
	return r.print(v)
}

func (r *eventReader) ask(after uint64) (*control.Happened, error) {
	c, err := control.Dial(r.at)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Events(after)
}

// eventPrinter returns a function that prints events as lines.
func eventPrinter(out io.Writer, asJSON bool) func([]events.Event) error {
	return func(v []events.Event) error {
		w := bufio.NewWriter(out)
		e := json.NewEncoder(w)
		for i := range v {
			if asJSON {
				if err := e.Encode(&v[i]); err != nil {
					return err
				}
				continue
			}
			fmt.Fprintf(w, "%s %-7s %s: %s\n", logline.Stamp(v[i].Time), v[i].Level, v[i].Kind, v[i].Text)
		}
		return w.Flush()
	}
}

// sinceLayouts are the layouts of a time, the most precise first.
var sinceLayouts = []string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02", "15:04:05", "15:04",
}

// parseSince parses a duration before now, or a time. A time of day means the latest such time
// before now.
func parseSince(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range sinceLayouts {
		t, err := time.ParseInLocation(layout, s, now.Location())
		if err != nil {
			continue
		}
		if strings.Contains(layout, "2006") {
			return t, nil
		}
		t = time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, now.Location())
		if t.After(now) {
			t = t.AddDate(0, 0, -1)
		}
		return t, nil
	}
	return time.Time{}, usagef("--since %s is neither a duration like 10m nor a time like 03:00 or 2026-11-22 03:00", keytext.Quote(s))
}
