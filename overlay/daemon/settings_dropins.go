package daemon

import (
	"context"
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
		if err != nil && !said {
			s.log.tell(events.DropInRefused, dir, "%s is not watched: %v", dir, err)
		}
		said = err != nil
		select {
		case <-ctx.Done():
		case <-time.After(rewatchEvery):
		}
	}
}

// watchDir returns when the directory is gone, or ctx has ended.
func (s *settings) watchDir(ctx context.Context, dir string) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Add(dir); err != nil {
		return err
	}
	changed := map[string]bool(nil) // nil: all files, as some may have changed before the watch
	for {
		s.rereadDropIns(changed)
		changed = map[string]bool{}
		if gone, err := quietDir(ctx, w, dir, changed); gone || err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// quietDir waits for a change in the directory, and then until it is quiet for a moment: files
// are seldom written at once. It notes changed files in changed. If the directory itself is
// gone, gone is true.
func quietDir(ctx context.Context, w *fsnotify.Watcher, dir string, changed map[string]bool) (gone bool, err error) {
	var quiet <-chan time.Time
	var latest time.Time // when to act at the latest
	for {
		select {
		case <-ctx.Done():
			return false, nil
		case <-quiet:
			return false, nil
		case err := <-w.Errors:
			return false, err // news may have been lost
		case e := <-w.Events:
			if e.Name == dir && e.Op&(fsnotify.Remove|fsnotify.Rename) != 0 {
				return true, nil
			}
			changed[e.Name] = true
		}
		if latest.IsZero() {
			latest = time.Now().Add(settleMost)
		}
		quiet = time.After(min(settle, time.Until(latest)))
	}
}

// withDropIns returns c with the peers of the watched directory. If c names another directory,
// it is used from the next start on. changed names the changed files; nil means that any file
// may have changed.
func (s *settings) withDropIns(c *config.Config, changed map[string]bool) (*config.Config, []error, error) {
	here := *c
	here.PeersDir, here.PeersOwner = s.running.cfg().PeersDir, s.running.cfg().PeersOwner
	var is func(string) bool
	if changed != nil {
		is = func(file string) bool { return changed[file] }
	}
	all, faults, err := s.dropIns.With(&here, is)
	if err == nil {
		all.PeersDir, all.PeersOwner = c.PeersDir, c.PeersOwner
	}
	return all, faults, err
}

// rereadDropIns applies the current drop-in files. Other changes made while running stay, and
// so does a peer with an unchanged file.
func (s *settings) rereadDropIns(changed map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	files, faults, err := s.withDropIns(s.file, changed)
	var diff []config.Change
	if err == nil {
		s.tellFaults(faults)
		diff, err = s.apply(withFiles(s.running.cfg(), s.file, files))
	}
	if err != nil {
		if err != errEnded && s.unread != err.Error() {
			s.unread = err.Error()
			s.log.tell(events.DropInRefused, "", "drop-in files are not taken over: %v", err)
		}
		return
	}
	s.unread, s.file = "", files
	s.compare()
	s.report(diff)
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

// tellFaults reports each fault of drop-in files once. The caller holds mu.
func (s *settings) tellFaults(faults []error) {
	told := s.faults
	s.faults = nil
	for _, f := range faults {
		text := fmt.Sprint(f)
		if s.faults = append(s.faults, text); !slices.Contains(told, text) {
			s.log.tell(events.DropInRefused, text, "left out: %s", text)
		}
	}
}
