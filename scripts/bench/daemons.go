package main

import (
	"fmt"
	"os"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// daemons is what a kind has started, and the files that it made.
type daemons struct {
	running []*fabric.Process
	files   []string
}

func (d *daemons) close() error {
	for _, p := range d.running {
		// Some daemons end by the signal itself, which is no error here.
		_ = p.Stop(stopWait)
	}
	for _, f := range d.files {
		_ = os.Remove(f)
	}
	return nil
}

// awaitFile waits until the daemon has made a file.
func awaitFile(p *fabric.Process, path string) error {
	for deadline := time.Now().Add(tunnelWait); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-p.Done():
			return fmt.Errorf("the daemon ended before it made %s: %s", path, p.Log.String())
		default:
		}
	}
	return fmt.Errorf("%s does not appear: %s", path, p.Log.String())
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
