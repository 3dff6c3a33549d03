package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/route"
)

// rewatchEvery is the interval of attempts to watch a missing directory of drop-in files. Some
// tools replace a directory by a new one.
const rewatchEvery = time.Second

// readDropIns reads the drop-in files for the start.
func (s *settings) readDropIns() error {
	s.dropIns.Around = s.around
	all, faults, err := s.dropIns.With(s.file, nil)
	if err != nil {
		return s.file.DropInFault(err)
	}
	s.file = all
	rest, over := config.Current(all, s.clock())
	s.running.Store(&snapshot{cfg: rest, table: new(route.Table)})
	s.lapse(over)
	s.tellFaults(faults)
	return nil
}

// watchDropIns adds and removes peers with their drop-in files until ctx ends. While the
// directory is missing, peers stay.
func (s *settings) watchDropIns(ctx context.Context) {
	dir := s.running.cfg().PeersDir
	if dir == "" {
		return
	}
	said := false
	for ctx.Err() == nil {
		err := s.watchDir(ctx, dir)
		// Without a watch the files are still read from time to time.
		if err != nil && s.rereadAndRest(ctx, nil) && !said {
			s.log.tell(events.DropInRefused, dir, "%s is not watched, but read every %v: %v", dir, rewatchEvery, err)
		}
		said = err != nil
		pause(ctx, rewatchEvery)
	}
}

// watchDir returns when the directory is gone, when too much happens in it, or when ctx has ended.
func (s *settings) watchDir(ctx context.Context, dir string) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Add(dir); err != nil {
		return err
	}
	guests := s.running.cfg().HasGuests()
	changed := map[string]bool(nil) // nil: all files, as some may have changed before the watch
	for {
		s.rereadAndRest(ctx, changed)
		changed = map[string]bool{}
		var recheck <-chan time.Time
		if guests {
			recheck = time.After(recheckEvery)
		}
		if ended, err := quietDir(ctx, w, dir, changed, recheck); ended || err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// Bounds of the time for a directory whose owner changes it all the time.
const (
	// After a reading, the next one waits for restShare times its duration. So readings take a
	// tenth of a processor at most.
	restShare = 9
	// restMost bounds that wait, because root's change must not wait for long.
	restMost = 10 * time.Second
	// floodEvents is the number of events after which the watch ends, and all files are read again.
	// A fleet's agent causes six for each file.
	floodEvents = 8192
	// recheckEvery is the interval of checks of guests whose files have not changed. This host, or
	// one of root's peers, may have got another address.
	recheckEvery = 10 * time.Second
)

// rereadAndRest reads the changed files, and then waits in proportion to the time that this took.
// Meanwhile the kernel joins events or drops them, which takes no time of this process.
func (s *settings) rereadAndRest(ctx context.Context, changed map[string]bool) (read bool) {
	start := time.Now()
	read = s.rereadDropIns(changed)
	pause(ctx, min(restMost, restShare*time.Since(start)))
	return read
}

// quietDir waits for recheck, or for a change in the directory. After a change it waits until the
// directory is quiet for a moment, as files are seldom written at once. It notes changed files in changed. The watch ends if the directory
// itself is gone, or if there are too many events.
func quietDir(ctx context.Context, w *fsnotify.Watcher, dir string, changed map[string]bool, recheck <-chan time.Time) (ended bool, err error) {
	var quiet <-chan time.Time
	var latest time.Time // when to act at the latest
	for n := 0; n < floodEvents; n++ {
		select {
		case <-ctx.Done():
			return false, nil
		case <-quiet:
			return false, nil
		case <-recheck:
			return false, nil
		case err := <-w.Errors:
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				return true, nil
			}
			return false, err // news may have been lost
		case e := <-w.Events:
			if e.Name == dir && e.Op&(fsnotify.Remove|fsnotify.Rename) != 0 {
				return true, nil
			}
			if e.Name == dir || config.IsDropIn(e.Name) {
				changed[e.Name] = true
			}
		}
		if latest.IsZero() {
			latest = time.Now().Add(settleMost)
		}
		quiet = time.After(min(settle, time.Until(latest)))
	}
	return true, nil
}

// withDropIns returns c with the peers of the watched directory. If c names another directory, that
// one is used from the next start on. changed has the names of the changed files, or is nil if any
// file may have changed.
func (s *settings) withDropIns(c *config.Config, changed map[string]bool) (*config.Config, []error, error) {
	here := *c
	if c == s.file {
		here.PeersAllow = s.running.cfg().PeersAllow // "set" may have changed it
	}
	here.PeersDir, here.PeersOwner = s.running.cfg().PeersDir, s.running.cfg().PeersOwner
	var is func(string) bool
	if changed != nil {
		is = func(file string) bool { return changed[file] }
	}
	all, faults, err := s.dropIns.With(&here, is)
	if err == nil {
		all.PeersDir, all.PeersOwner, all.PeersAllow = c.PeersDir, c.PeersOwner, c.PeersAllow
	}
	return all, faults, err
}

// rereadDropIns takes over the current drop-in files. Other changes made while running stay,
// and so does a peer with an unchanged file. It reports whether the directory could be read.
func (s *settings) rereadDropIns(changed map[string]bool) (read bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	files, faults, err := s.withDropIns(s.file, changed)
	var diff []config.Change
	var out []config.LeftOut
	if err == nil {
		diff, out, err = s.carry(withFiles(s.running.cfg(), s.file, files))
		s.tellFaults(append(faults, reasons(out)...))
	}
	if err != nil {
		if err != errEnded && s.unread != err.Error() {
			s.unread = err.Error()
			s.log.tell(events.DropInRefused, "", "drop-in files are not taken over: %v", err)
		}
		return false
	}
	s.unread, s.file = "", config.Without(files, out)
	s.compare()
	s.report(diff)
	return !slices.ContainsFunc(faults, wholeDirectory)
}

// wholeDirectory reports whether a fault concerns the directory, and not one file.
func wholeDirectory(fault error) bool {
	var e *config.DirFault
	return errors.As(fault, &e)
}

// withFiles returns runs with the drop-in peers of after. A peer that is the same in before and
// after keeps its running configuration.
func withFiles(runs, before, after *config.Config) *config.Config {
	same := map[config.Key]bool{}
	was := map[config.Key]*config.Peer{}
	for i := range before.Peers {
		was[before.Peers[i].PublicKey] = &before.Peers[i]
	}
	for i := range after.Peers {
		p := &after.Peers[i]
		if old := was[p.PublicKey]; old != nil && old.File == p.File && config.SamePeer(old, p) {
			same[p.PublicKey] = true
		}
	}
	next := *runs
	next.Peers = slices.DeleteFunc(slices.Clone(runs.Peers), func(p config.Peer) bool { return p.File != "" && !same[p.PublicKey] })
	have := map[config.Key]bool{}
	for i := range next.Peers {
		have[next.Peers[i].PublicKey] = true
	}
	for _, p := range after.Peers {
		if p.File != "" && !have[p.PublicKey] {
			next.Peers = append(next.Peers, p)
		}
	}
	return &next
}

// faultsAtOnce bounds the lines about root's files in one reading, and about guests' files. The
// owner chooses the names, and each name takes a place in the log's own limits.
const faultsAtOnce = 20

// tellFaults reports each fault of drop-in files once. The caller holds mu.
func (s *settings) tellFaults(faults []error) {
	told := s.faults
	s.faults = make(map[string]bool, len(faults))
	var fresh []error
	for _, f := range faults {
		text := fmt.Sprint(f)
		if !told[text] && !s.faults[text] {
			fresh = append(fresh, f)
		}
		s.faults[text] = true
	}
	s.tellLeftOut(fresh)
}

// tellLeftOut reports faults of drop-in files.
func (s *settings) tellLeftOut(faults []error) {
	for _, guest := range []bool{false, true} {
		n, tell := 0, s.log.teller(guest)
		for _, f := range faults {
			if config.OfGuest(f) != guest {
				continue
			}
			text, what := fmt.Sprint(f), "left out"
			if wholeDirectory(f) {
				what = "not read"
			}
			if n++; n <= faultsAtOnce {
				tell(events.DropInRefused, text, "%s: %s", what, text)
			}
		}
		if n > faultsAtOnce {
			tell(events.DropInRefused, "more", "left out: %d more files", n-faultsAtOnce)
		}
	}
}
