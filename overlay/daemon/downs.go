package daemon

import (
	"strings"
	"sync"
)

// downs has a function for each client that has requested the end of the daemon. The functions tell
// the clients how the tear-down went.
type downs struct {
	mu    sync.Mutex
	ended []func(faults []string)
}

func (d *downs) add(ended func(faults []string)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = append(d.ended, ended)
}

// tell sends the faults of the tear-down, the lines of err, to the clients.
func (d *downs) tell(err error) {
	var faults []string
	if err != nil {
		faults = strings.Split(err.Error(), "\n") // errors.Join puts each error on its own line
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, ended := range d.ended {
		ended(faults)
	}
}
