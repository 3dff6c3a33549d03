package netconf

import (
	"errors"
	"os"
)

// Adopt returns the state of an interface that an earlier process configured after the
// same plan and passed on, so that Revert takes away what that one made. fwMark is that
// process's State.FwMark.
func Adopt(p Plan, fwMark uint32) (*State, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	s := &State{FwMark: fwMark, file: p.StateFile}
	l, err := readLeft(p.StateFile)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return s, nil // the interface takes all of it along
	case err != nil:
		return nil, err
	case l.Namespace != namespace():
		return nil, errors.New(p.StateFile + " is of another network namespace")
	}
	for _, r := range l.Routes {
		s.done = append(s.done, r)
	}
	for _, r := range l.Rules {
		s.done = append(s.done, r)
	}
	return s, nil
}
