package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/pause"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/route"
)

// If the directory of drop-in files is missing, the daemon tries to watch it again every
// rewatchEvery, because some tools replace the directory with a new one.
const rewatchEvery = time.Second

// readDropIns reads the drop-in files when the daemon starts, by the function confined(). Otherwise
// the daemon would remove the peers of files that it may not read later.
func (s *settings) readDropIns(confined func(read func()) error) (err error) {
	s.dropIns.Around = s.around
	var all *config.Config
	var faults []error
	read := func() { all, faults, err = s.dropIns.With(s.file, nil) }
	if confined == nil {
		read()
	} else if failed := confined(read); failed != nil {
		s.log.tell(events.PrivilegesKept, "", "drop-in files: privileges are not as later: %v", failed)
	}
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

// watchDropIns adds and removes peers as their drop-in files appear and disappear, until ctx
// ends. Peers are kept while the directory of drop-in files is missing.
func (s *settings) watchDropIns(ctx context.Context) {
	dir := s.running.cfg().PeersDir
	if dir == "" {
		return
	}
	said := false
	for ctx.Err() == nil {
		err := s.watchDir(ctx, dir)
		// If the directory cannot be watched, its files are still read at intervals.
		if err != nil && s.rereadAndRest(ctx, nil) && !said {
			s.log.tell(events.DropInRefused, dir, "%s is not watched, but read every %v: %v", dir, rewatchEvery, err)
		}
		said = err != nil
		pause.For(ctx, rewatchEvery)
	}
}

// watchDir handles changes in a directory until the directory is removed, too many events
// arrive, or ctx ends.
func (s *settings) watchDir(ctx context.Context, dir string) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Add(dir); err != nil {
		return err
	}
	changed := map[string]bool(nil) // nil: all files, because some may have changed before the watch began
	for {
		read := s.rereadAndRest(ctx, changed)
		changed = map[string]bool{}
		if ended, err := quietDir(ctx, w, dir, changed, time.After(recheckEvery)); ended || err != nil || ctx.Err() != nil {
			return err
		}
		if !read {
			changed = nil // the failed reading has dropped the names of its changed files
		}
	}
}

// These constants limit the time spent on a directory whose owner changes it all the time.
const (
	// After each reading of drop-in files, the daemon waits for restShare times the duration of the
	// reading. So reading takes at most a tenth of a processor's time.
	restShare = 9
	// restMost bounds the wait between two readings, so that a change by root takes effect soon.
	restMost = 10 * time.Second
	// floodEvents is the number of events after which the watch ends and all files are read again.
	// An agent that writes the files of a fleet causes six events for each file.
	floodEvents = 8192
	// recheckEvery is the interval at which unchanged files are checked again. This host, or one of
	// root's peers, may have a new address that conflicts with a guest. A route may be gone because
	// of which a file was left out.
	recheckEvery = 10 * time.Second
)

// rereadAndRest reads the changed files, and then waits in proportion to the time that the reading
// took. During the wait, the kernel merges or drops events, and this process spends no time on
// them.
func (s *settings) rereadAndRest(ctx context.Context, changed map[string]bool) (read bool) {
	start := time.Now()
	read = s.rereadDropIns(changed)
	pause.For(ctx, min(restMost, restShare*time.Since(start)))
	return read
}

// quietDir waits until the timer `recheck` fires, or the directory changes. After a change,
// quietDir waits until the directory is quiet for a moment, because tools seldom write all files
// at once. The function quietDir adds the names of changed files to the map `changed`. The
// result `ended` is true if the directory was removed, or if there were too many events.
func quietDir(ctx context.Context, w *fsnotify.Watcher, dir string, changed map[string]bool, recheck <-chan time.Time) (ended bool, err error) {
	var quiet <-chan time.Time
	var latest time.Time // time at which quietDir returns even if changes go on
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
			return false, err // events may have been lost
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

// withDropIns returns c with the peers of the watched directory added. If c names another
// directory, that directory is used after the next start. The parameter `changed` has the names
// of the changed files, or is nil if any file may have changed.
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

// rereadDropIns applies the current drop-in files. The method rereadDropIns keeps other changes
// made at run time, and peers whose files are unchanged. The method rereadDropIns reports
// whether the directory could be read.
func (s *settings) rereadDropIns(changed map[string]bool) (read bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	files, faults, err := s.withDropIns(s.file, changed)
	var diff []config.Change
	var out []config.LeftOut
	if err == nil {
		diff, out, err = s.carry(withFiles(s.running.cfg(), s.file, files), ofFile)
		s.tellFaults(append(faults, reasons(out)...))
	}
	if err != nil {
		if err != errEnded && s.unread != err.Error() {
			s.unread = err.Error()
			s.log.tell(events.DropInRefused, "", "%s: %s", notApplied, s.unread)
		}
		return false
	}
	s.unread, s.file = "", config.Without(files, out)
	s.compare()
	s.report(diff)
	return !slices.ContainsFunc(faults, wholeDirectory)
}

// wholeDirectory reports whether a fault concerns the whole directory, not a single file.
func wholeDirectory(fault error) bool {
	var e *config.DirFault
	return errors.As(fault, &e)
}

// withFiles returns the running configuration `runs` with the drop-in peers of the configuration
// `after`. A peer that is the same in `before` and `after` keeps its running configuration.
func withFiles(runs, before, after *config.Config) *config.Config {
	same := make(map[config.Key]bool, len(after.Peers))
	was := make(map[config.Key]*config.Peer, len(before.Peers))
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
	have := make(map[config.Key]bool, len(next.Peers))
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

// faultsAtOnce bounds the number of log lines about root's files after one reading, and likewise
// about guests' files. The limits of the event log do not suffice, because they treat each file
// name as a separate subject, and the file's owner chooses the name.
const faultsAtOnce = 20

// notApplied is the message for a fault because of which no drop-in file is applied.
const notApplied = "drop-in files are not taken over"

// tellFaults stores the faults of a reading of the drop-in files, and reports new ones. The caller
// must hold mu.
func (s *settings) tellFaults(faults []error) {
	told := s.faults
	s.faults = nil
	s.addMissing(faults, told)
}

// addFaults stores faults of drop-in files in addition to those of the latest reading, and reports
// new ones. The caller must hold mu.
func (s *settings) addFaults(faults []error) { s.addMissing(faults, s.faults) }

// addMissing stores faults, each of them once, and reports the faults that are not in `told`.
func (s *settings) addMissing(faults, told []error) {
	known, kept := map[string]bool{}, map[string]bool{}
	for _, f := range told {
		known[f.Error()] = true
	}
	for _, f := range s.faults {
		kept[f.Error()] = true
	}
	var fresh []error
	for _, f := range faults {
		text := f.Error()
		if kept[text] {
			continue
		}
		if kept[text] = true; !known[text] {
			fresh = append(fresh, f)
		}
		s.faults = append(s.faults, f)
	}
	s.tellLeftOut(fresh)
}

// dropInFaults returns a line for each drop-in file that is left out now, and for a fault because
// of which no file is applied. It bounds the number of lines, because another user may have caused
// the faults.
func (s *settings) dropInFaults() (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unread != "" {
		lines = append(lines, notApplied+": "+s.unread)
	}
	for _, f := range config.RootsFirst(s.faults)[:min(len(s.faults), mostWarned)] {
		lines = append(lines, leftOut(f))
	}
	if n := len(s.faults) - mostWarned; n > 0 {
		lines = append(lines, moreLeftOut(n))
	}
	return lines
}

// leftOut is the message for the fault of a drop-in file, or of the whole directory.
func leftOut(fault error) string {
	if wholeDirectory(fault) {
		return "not read: " + fault.Error()
	}
	return "left out: " + fault.Error()
}

func moreLeftOut(n int) string { return fmt.Sprintf("left out: %d more files", n) }

func (s *settings) tellLeftOut(faults []error) {
	for _, guest := range []bool{false, true} {
		n, tell := 0, s.log.teller(guest)
		for _, f := range faults {
			if config.OfGuest(f) != guest {
				continue
			}
			if n++; n <= faultsAtOnce {
				tell(events.DropInRefused, f.Error(), "%s", leftOut(f))
			}
		}
		if n > faultsAtOnce {
			tell(events.DropInRefused, "more", "%s", moreLeftOut(n-faultsAtOnce))
		}
	}
}
