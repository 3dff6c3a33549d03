package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/events"
)

// settings changes the running configuration, when files change or a client of the control
// socket requests it.
type settings struct {
	log       *eventLog
	running   *runningConfig
	device    *device
	sockets   *sockets
	sessions  *sessions
	endpoints *endpoints
	clock     func() time.Time               // the host's clock
	load      func() (*config.Config, error) // nil: the file cannot be read again

	expiryChanged chan struct{} // wakes the method expire() after a change

	mu               sync.Mutex     // guards changes of the running configuration
	file             *config.Config // the files at the latest read
	closed           bool           // no more changes
	dropIns          config.DropIns // the drop-in files, as read
	faults           []error        // faults of drop-in files at the latest reading, and since then: all reported
	unread           string         // reason why the drop-in files are not applied now; "": they are
	unsaved, pending []string       // computed by the method compare()
	digest           string         // of the configuration `digested`
	digested         *config.Config // nil: none so far
	expired          expiredPeers
	moved            int         // peers added or removed since the latest return of memory
	freeing          *time.Timer // timer for returning memory to the kernel; nil: not needed so far
	spared           int         // number of guests that the start has left out one by one
	untimed          string      // last reported reason why expired peers could not be removed or restored
}

// badConfig marks an error in the requested configuration, as opposed to a failure to apply it.
type badConfig struct{ error }

func (badConfig) Is(target error) bool { return target == control.ErrConfig }
func (e badConfig) Unwrap() error      { return e.error }

// change makes a change for a client of the control socket, and returns the differences and
// warnings when the change is in force.
func (s *settings) change(c control.Change) (control.Changed, error) {
	before := s.running.cfg()
	_, told := s.hostWarnings(0)
	done, err := s.dispatch(c)
	if err != nil {
		s.log.tell(events.ConfigRefused, "", "not changed: %v", err)
		return control.Changed{}, err
	}
	if len(done.diff) > 0 {
		s.tellDoubts(s.running.cfg(), before)
	}
	if c.How == control.HowSet && slices.ContainsFunc(done.diff, func(v config.Change) bool { return v.Key == "peers.allow" }) {
		s.rereadDropIns(nil) // refused drop-in files may be allowed after this change
	}
	if len(done.diff) > 0 {
		s.endpoints.rounds.wait()
	}
	host, _ := s.hostWarnings(told)
	s.report(slices.DeleteFunc(slices.Clone(done.diff), func(v config.Change) bool {
		return !v.Live && c.How == control.HowSet // reported when the client has saved it
	}))
	return control.Changed{Differences: differences(done.diff), Warnings: append(host, s.warnings(c, before, done)...)}, nil
}

func (s *settings) dispatch(c control.Change) (outcome, error) {
	switch c.How {
	case control.HowReload, control.HowSync:
		want, err := s.wanted(c)
		if err != nil {
			return outcome{}, badConfig{err}
		}
		if c.How == control.HowSync {
			return s.sync(want)
		}
		return s.reload(want)
	case control.HowAdd:
		peers, err := config.ParsePeers("peers", []byte(c.Config))
		if err != nil {
			return outcome{}, badConfig{err}
		}
		return s.add(peers)
	case control.HowSet, control.HowSaved:
		settings := make([]config.Setting, len(c.Settings))
		for i, v := range c.Settings {
			settings[i] = config.Setting(v)
		}
		if c.How == control.HowSaved {
			return s.saved(settings)
		}
		return s.set(settings, c.Save)
	}
	return outcome{}, fmt.Errorf("a change by %s is not known", keytext.Quote(c.How))
}

var errNoFile = errors.New("the daemon cannot read its file again")

// wanted returns the configuration in the request, or the configuration in the daemon's file.
func (s *settings) wanted(c control.Change) (*config.Config, error) {
	if c.Config != "" {
		return config.ParseSealed(s.running.cfg().File, []byte(c.Config))
	}
	if s.load == nil {
		return nil, errNoFile
	}
	return s.load()
}

// report logs changes.
func (s *settings) report(diff []config.Change) {
	var own []string
	var guests []config.Change
	for _, c := range diff {
		if c.Guest {
			guests = append(guests, c)
		} else {
			own = append(own, difference(c).Text)
		}
	}
	for _, text := range own[:min(len(own), reportMost)] {
		s.log.tell(events.ConfigChanged, text, "changed: %s", text)
	}
	if n := len(own) - reportMost; n > 0 {
		s.log.tell(events.ConfigChanged, "more", "changed: %d more", n)
	}
	s.reportGuests(guests)
}

// reportMost bounds the number of log lines for one change. Thousands of peers may be added at
// once.
const reportMost = 20

// guestsNamed bounds the number of guests named in a log line about their changes.
const guestsNamed = 8

// reportGuests logs all changes of guests in one line, because their owner may make any number of
// changes. A change may also come from a command of root or from this host's addresses.
func (s *settings) reportGuests(diff []config.Change) {
	if len(diff) == 0 {
		return
	}
	what := diff[0].String()
	if len(diff) > 1 {
		var named []string
		for _, c := range diff[:min(len(diff), guestsNamed)] {
			named = append(named, c.Sign()+" "+c.Key)
		}
		if what = strings.Join(named, ", "); len(diff) > guestsNamed {
			what += fmt.Sprintf(" and %d more", len(diff)-guestsNamed)
		}
	}
	s.log.tellGuest(events.ConfigChanged, "", "changed: %s (drop-in files of another user)", what)
}

// rereadOn reads the configuration file again at each signal, until ctx ends.
func (s *settings) rereadOn(ctx context.Context, again <-chan os.Signal, done func(error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
		}
		changed, err := s.change(control.Change{How: control.HowReload})
		if err == nil && len(changed.Differences) == 0 {
			s.log.tell(events.ConfigChanged, "", "read again: nothing has changed")
		}
		if done != nil {
			done(err)
		}
	}
}

// reload applies the configuration file c and the drop-in files of its directory.
func (s *settings) reload(c *config.Config) (outcome, error) { return s.replace(c, true) }

// sync applies c, which may differ from the configuration file, and the drop-in files.
func (s *settings) sync(c *config.Config) (outcome, error) { return s.replace(c, false) }

func (s *settings) replace(c *config.Config, isFile bool) (outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	want, faults, err := s.withDropIns(c, nil)
	if err != nil {
		return outcome{}, err
	}
	diff, out, err := s.carry(want, ofFile)
	if err != nil {
		return outcome{}, err
	}
	s.unread = ""
	if isFile {
		s.file = config.Without(want, out)
	}
	s.compare()
	faults = append(faults, reasons(out)...)
	s.tellFaults(faults)
	return outcome{diff, config.Without(want, out), faults}, nil
}

// set changes single keys of the running configuration. If `save` is set, the client will write the
// keys to the file, so keys that need a restart may change too.
func (s *settings) set(settings []config.Setting, save bool) (outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	with := func(c *config.Config) (*config.Config, error) { return config.With(c, settings) }
	want, err := sparing(s.withExpired(settings), with)
	if err == nil {
		err = s.changedByRoot(want)
	}
	if err != nil {
		return outcome{}, badConfig{err}
	}
	if save {
		if _, err = sparing(s.file, with); err != nil {
			return outcome{}, badConfig{err}
		}
	}
	for _, c := range config.Diff(s.running.cfg(), want) {
		if !c.Live && !save {
			return outcome{}, fmt.Errorf("%s cannot be changed while running: change it in %s, and restart", c.Key, s.file.File)
		}
	}
	diff, out, err := s.carry(want, ofGuest)
	if err != nil {
		return outcome{}, err
	}
	s.compare()
	left := reasons(out)
	s.addFaults(left)
	return outcome{diff, config.Without(want, out), left}, nil
}

// saved records that the client has written the settings of an earlier change to the file. It
// returns the changes that need a restart.
func (s *settings) saved(settings []config.Setting) (outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	file, err := sparing(s.file, func(c *config.Config) (*config.Config, error) { return config.With(c, settings) })
	if err != nil {
		return outcome{}, badConfig{err}
	}
	diff := slices.DeleteFunc(config.Diff(s.file, file), func(c config.Change) bool { return c.Live })
	s.file = file
	s.compare()
	return outcome{diff: diff, want: s.running.cfg()}, nil
}

// add adds peers to the running configuration, and replaces peers with the same public keys.
func (s *settings) add(peers []config.Peer) (outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	want, err := sparing(s.running.cfg(), func(c *config.Config) (*config.Config, error) { return config.WithPeers(c, peers) })
	if err != nil {
		return outcome{}, badConfig{err}
	}
	diff, out, err := s.carry(want, ofGuest)
	if err == nil {
		s.compare()
		s.addFaults(reasons(out))
	}
	return outcome{diff, config.Without(want, out), reasons(out)}, err
}

// compare finds the keys that differ between the running configuration and the files, because
// they were changed at run time or need a restart. The caller must hold mu.
func (s *settings) compare() {
	s.unsaved, s.pending = nil, nil
	file, _ := config.Current(s.file, s.clock())
	for _, c := range config.Diff(file, s.running.cfg()) {
		if c.Live {
			s.unsaved = append(s.unsaved, c.Key)
		} else {
			s.pending = append(s.pending, c.Key)
		}
	}
}

// compareFile puts the file's name and digest into a status, and the keys that the method compare()
// found.
func (s *settings) compareFile(st *control.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st.File = s.file.File
	if whole, err := filepath.Abs(st.File); err == nil {
		st.File = whole
	}
	if s.digested != s.file {
		s.digest, s.digested = config.Digest(s.file), s.file
	}
	st.FileDigest, st.Unsaved, st.Pending = s.digest, slices.Clone(s.unsaved), slices.Clone(s.pending)
}

// close refuses all later changes, and returns the present peers.
func (s *settings) close() []*peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.running.peers()
}
