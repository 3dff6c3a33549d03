package rivals

import "github.com/srdtun/srdtun/e2e/fabric"

// daemons is the processes that a kind has started.
type daemons struct {
	running []*fabric.Process
}

func (d *daemons) close() error {
	for _, p := range d.running {
		// Some daemons end by the signal itself, which is no error here.
		_ = p.Stop(stopWait)
	}
	return nil
}

// firstError is the first that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
