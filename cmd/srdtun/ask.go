package main

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
)

const (
	// askWait bounds the wait for each daemon when the command asks all daemons. On a busy host, a
	// daemon with thousands of peers needs a second to collect its status.
	askWait = 3 * time.Second
	// askAtOnce is the number of daemons to which the command sends requests concurrently.
	askAtOnce = 64
)

// asked is the reply of the daemon at one control socket.
type asked struct {
	at     rundir.Place
	status *control.Status
	err    error
}

// askAll requests a part of each daemon's status, and returns the replies in the order of `places`.
// It sends the requests concurrently, and waits for each daemon at most askWait.
func askAll(places []rundir.Place, part control.Part) []asked {
	all := make([]asked, len(places))
	turn := make(chan struct{}, askAtOnce)
	var wg sync.WaitGroup
	for i, at := range places {
		wg.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			all[i].at = at
			all[i].status, all[i].err = askWithin(at, part, askWait)
		})
	}
	wg.Wait()
	return all
}

// Many concurrent commands may use all connections of a daemon for a moment. A refused command then
// repeats its request, as after EAGAIN.
const (
	placeWait  = time.Minute           // longer than a busy machine needs for 32 whole states of a large hub
	placePause = 20 * time.Millisecond // between two attempts
)

// askWithin requests a part of a daemon's status. If d is zero, the limits are those of
// control.Client and placeWait.
func askWithin(at rundir.Place, part control.Part, d time.Duration) (*control.Status, error) {
	longest := cmp.Or(d, placeWait)
	for began := time.Now(); ; time.Sleep(placePause) {
		st, err := askOnce(at, part, d)
		if !control.Crowded(err) || time.Since(began) > longest {
			return st, err
		}
	}
}

func askOnce(at rundir.Place, part control.Part, d time.Duration) (*control.Status, error) {
	c, err := control.Dial(at)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if d > 0 {
		if err := c.SetTimeout(d); err != nil {
			return nil, err
		}
	}
	return c.ShowPart(part)
}

// status requests the whole status of the daemon at a control socket.
func status(at rundir.Place) (*control.Status, error) { return askWithin(at, control.Part{}, 0) }

// running is the status of an interface, with the control socket from which it was received.
type running struct {
	at rundir.Place
	*control.Status
}

// askOne requests the status of the interface NAME|FILE.
func askOne(arg string, part control.Part) (r running, err error) {
	if r.at, err = placeOf(arg); err != nil {
		return r, err
	}
	r.Status, err = askWithin(r.at, part, 0)
	return r, err
}

// askRunning requests the status of all running daemons. The result `silent` has an error for each
// daemon that does not reply, or refuses the caller.
func askRunning(part control.Part) (list []running, silent []error, err error) {
	places, silent, err := placesToAsk()
	if err != nil {
		return nil, nil, err
	}
	for _, a := range askAll(places, part) {
		switch {
		case a.err == nil:
			list = append(list, running{a.at, a.status})
		case !errors.Is(a.err, control.ErrNotRunning):
			silent = append(silent, fmt.Errorf("%s is left out: %w", a.at, a.err))
		}
	}
	switch {
	case len(list) > 0:
		return list, silent, nil
	case len(silent) > 0:
		return nil, nil, errors.Join(silent...)
	}
	return nil, nil, errNoneRuns
}

// placesToAsk returns the control sockets at which daemons may listen. Each service has only one
// device. If a service has several sockets and its file names none of them, placesToAsk leaves the
// service out.
func placesToAsk() (places []rundir.Place, silent []error, err error) {
	all, err := rundir.All()
	for _, p := range all {
		if p.Service == "" {
			places = append(places, p)
			continue
		}
		switch of := placesOfService(p.Service); {
		case len(of) == 1 && of[0] == p:
			places = append(places, p)
		case len(of) > 1 && of[0] == p:
			silent = append(silent, fmt.Errorf("srdtun@%s is left out: it has %d sockets, and srdtun cannot tell which is its own", p.Service, len(of)))
		}
	}
	return places, silent, err
}
