package main

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
)

const (
	// askWait bounds the wait for each daemon when all are asked. A status of thousands of
	// peers takes a second on a busy host.
	askWait = 3 * time.Second
	// askAtOnce is the number of daemons asked at the same time.
	askAtOnce = 64
)

// asked is the answer of the daemon at a place.
type asked struct {
	at     rundir.Place
	status *control.Status
	err    error
}

// askAll asks daemons for this part of their states, and returns the answers in the order of
// places. It waits for a daemon at most askWait, and asks others meanwhile.
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

func askWithin(at rundir.Place, part control.Part, d time.Duration) (*control.Status, error) {
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

// status asks the daemon at a place for its whole state.
func status(at rundir.Place) (*control.Status, error) { return askWithin(at, control.Part{}, 0) }

// running is an interface with its answer.
type running struct {
	at rundir.Place
	*control.Status
}

// askOne asks the interface of NAME|FILE.
func askOne(arg string, part control.Part) (r running, err error) {
	if r.at, err = placeOf(arg); err != nil {
		return r, err
	}
	r.Status, err = askWithin(r.at, part, 0)
	return r, err
}

// askRunning asks all running daemons. silent has an error for each that does not answer, or
// refuses the caller.
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

// placesToAsk returns the places at which daemons may listen. A service has one device. If it
// has several sockets, and its file names none of them, the service is left out.
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
