package rivals

import "github.com/srdtun/srdtun/e2e/fabric"

// daemons holds the processes that a tunnel has started.
type daemons struct {
	running []*fabric.Process
}

func (d *daemons) close() error {
	for _, p := range d.running {
		// Some daemons report the signal that ended them as their exit status, which is not an
		// error here.
		_ = p.Stop(stopWait)
	}
	return nil
}

// firstError returns the first error that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
