package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/bounded"
	"github.com/srdtun/srdtun/overlay/control/rundir"
)

// setAndSave changes the running interface and its configuration file. setAndSave writes the new
// file first, and renames it after the daemon has accepted the change.
func setAndSave(arg string, at rundir.Place, wanted []config.Setting) error {
	file, from, err := findFile(arg)
	if err != nil {
		return err
	}
	if file != from {
		return errors.New("a service cannot write its file")
	}
	c, err := config.Load(file)
	if err != nil {
		return err
	}
	texts, err := editFiles(c, wanted)
	if err != nil {
		return err
	}
	var ready []*replacement
	defer func() {
		for _, r := range ready {
			r.drop()
		}
	}()
	for f, text := range texts {
		r, err := prepare(f, text)
		if err != nil {
			return err
		}
		ready = append(ready, r)
	}
	done, err := changed(at, request(wanted, true))
	if err != nil {
		return err
	}
	for _, r := range ready {
		if err := r.commit(); err != nil {
			return fmt.Errorf("the change is in force, but was not saved: %w", err)
		}
	}
	printChanges(at, done)
	return nil
}

// editFiles returns the new texts of the configuration file and of the drop-in files.
func editFiles(c *config.Config, wanted []config.Setting) (map[string][]byte, error) {
	all, _, err := config.WithDropIns(c)
	if err != nil {
		return nil, err
	}
	texts := map[string][]byte{}
	for _, s := range config.Named(all, wanted) {
		file := c.File
		if i := slices.IndexFunc(all.Peers, func(p config.Peer) bool {
			return p.File != "" && (strings.HasPrefix(s.Key, "peer."+p.Name+".") && p.Name != "" || strings.HasPrefix(s.Key, "peer."+p.PublicKey.String()+"."))
		}); i >= 0 {
			file = all.Peers[i].File
			if err := ownDirectory(filepath.Dir(file)); err != nil {
				return nil, fmt.Errorf("%s: not saved: %w", file, err)
			}
		}
		text, ok := texts[file]
		if !ok {
			if text, err = bounded.Regular(file, config.MaxFileBytes); err != nil {
				return nil, err
			}
		}
		if texts[file], err = config.Edit(text, []config.Setting{s}); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	if text, ok := texts[c.File]; ok {
		if _, err := config.Parse(c.File, text); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// ownDirectory returns an error if files in a directory must not be replaced. Another user with
// write access to the directory could replace the file by a link, and root would overwrite the
// link's target.
func ownDirectory(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Geteuid() && st.Uid != 0 || info.Mode().Perm()&othersWrite != 0 {
		return errors.New("other users may write to its directory: change the file at its origin")
	}
	return nil
}

// othersWrite has the write permissions of group and others.
const othersWrite = 0o022

// replacement is a temporary file that replaces a file with the same owner and mode.
type replacement struct{ temp, file string }

// prepare writes the replacement of a file. If the file is a symbolic link, the replacement is
// for the link's target.
func prepare(file string, text []byte) (_ *replacement, err error) {
	if file, err = filepath.EvalSymlinks(file); err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	// CreateTemp makes a file of mode 0600, and its name does not match drop-in files.
	f, err := os.CreateTemp(filepath.Dir(file), ".srdtun-*")
	if err != nil {
		return nil, err
	}
	r := &replacement{f.Name(), file}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		err = f.Chown(int(st.Uid), int(st.Gid))
	}
	if err == nil {
		err = f.Chmod(info.Mode().Perm())
	}
	if err == nil {
		_, err = f.Write(text)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		r.drop()
		return nil, err
	}
	return r, nil
}

func (r *replacement) commit() error { return os.Rename(r.temp, r.file) }

// drop removes a replacement that was not committed.
func (r *replacement) drop() {
	// After commit, the temporary file no longer exists, so Remove may fail.
	_ = os.Remove(r.temp)
}
