package daemon

import (
	"errors"
	"fmt"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/events"
)

// badConfig is an error of what somebody asked for, and not of doing it.
type badConfig struct{ error }

func (badConfig) Is(target error) bool { return target == control.ErrConfig }
func (e badConfig) Unwrap() error      { return e.error }

// change does what the control socket asks for, and returns what is otherwise than before.
func (s *settings) change(c control.Change) ([]control.Difference, error) {
	before := s.running.cfg()
	diff, err := s.dispatch(c)
	if err != nil {
		s.log.tell(events.ConfigRefused, "", "not changed: %v", err)
		return nil, err
	}
	if len(diff) > 0 {
		s.tellDoubts(s.running.cfg(), before)
	}
	return s.report(diff), nil
}

func (s *settings) dispatch(c control.Change) ([]config.Change, error) {
	switch c.How {
	case control.HowReload, control.HowSync:
		want, err := s.wanted(c)
		if err != nil {
			return nil, badConfig{err}
		}
		if c.How == control.HowSync {
			return s.sync(want)
		}
		return s.reload(want)
	case control.HowAdd:
		peers, err := config.ParsePeers("peers", []byte(c.Config))
		if err != nil {
			return nil, badConfig{err}
		}
		return s.add(peers)
	case control.HowSet:
		settings := make([]config.Setting, len(c.Settings))
		for i, v := range c.Settings {
			settings[i] = config.Setting(v)
		}
		return s.set(settings, c.Save)
	}
	return nil, fmt.Errorf("a change by %.32q is not known", c.How)
}

// errNoFile is for a daemon that has no way to its own file.
var errNoFile = errors.New("the daemon cannot read its file again")

// wanted is the configuration that a change hands over, or that of the daemon's file.
func (s *settings) wanted(c control.Change) (*config.Config, error) {
	if c.Config != "" {
		return config.ParseSealed(s.running.cfg().File, []byte(c.Config))
	}
	if s.load == nil {
		return nil, errNoFile
	}
	return s.load()
}

// report logs differences, and tells them to whoever asked for them.
func (s *settings) report(diff []config.Change) []control.Difference {
	v := make([]control.Difference, len(diff))
	for i, c := range diff {
		v[i] = control.Difference{Text: c.String(), Key: c.Key, Live: c.Live}
		if !c.Live {
			v[i].Text = "! " + v[i].Text[len("~ "):] + " (needs a restart)"
		}
		if i < reportMost {
			s.log.tell(events.ConfigChanged, v[i].Text, "changed: %s", v[i].Text)
		}
	}
	if n := len(diff) - reportMost; n > 0 {
		s.log.tell(events.ConfigChanged, "more", "changed: %d more", n)
	}
	return v
}

// reportMost bounds the log lines of one change. Thousands of peers may come at once.
const reportMost = 20
