package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/bounded"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"golang.org/x/sys/unix"
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
	if _, _, err := placeFor(c, file, arg); err != nil {
		return err // the argument names the device, and the file is another one than the daemon's
	}
	edits, err := editFiles(c, wanted)
	if err != nil {
		return err
	}
	for _, e := range edits {
		if err := e.prepare(); err != nil {
			return fmt.Errorf("not changed: %w", err)
		}
		defer e.drop()
	}
	done, err := changed(at, request(wanted, true))
	if err != nil {
		return err
	}
	var failed []error
	for _, e := range edits {
		if err := e.commit(); err != nil {
			failed = append(failed, e.unsaved(advised(e.file, err), done.Differences))
		} else if err := e.tell(at); err != nil {
			failed = append(failed, fmt.Errorf("%s: saved, but the daemon has not noted it: %w", e.file, err))
		}
	}
	if len(failed) > 0 {
		return errors.Join(failed...)
	}
	printChanges(at, done)
	return nil
}

// fileEdit is a new text for a file, with the settings that it contains.
type fileEdit struct {
	file     string
	text     []byte
	settings []config.Setting
	replacement
}

// editFiles returns the new texts of the configuration file and of the drop-in files.
func editFiles(c *config.Config, wanted []config.Setting) (edits []*fileEdit, err error) {
	all, _, err := config.WithDropIns(c)
	if err != nil {
		return nil, err
	}
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
		i := slices.IndexFunc(edits, func(e *fileEdit) bool { return e.file == file })
		if i < 0 {
			text, err := bounded.Regular(file, config.MaxFileBytes)
			if err != nil {
				return nil, err
			}
			i, edits = len(edits), append(edits, &fileEdit{file: file, text: text})
		}
		e := edits[i]
		if e.text, err = config.Edit(e.text, []config.Setting{s}); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		e.settings = append(e.settings, s)
	}
	for _, e := range edits {
		if e.file == c.File {
			if _, err := config.Parse(c.File, e.text); err != nil {
				return nil, err
			}
		}
	}
	return edits, nil
}

// tell tells the daemon that the file contains the settings.
func (e *fileEdit) tell(at rundir.Place) error {
	what := request(e.settings, true)
	what.How = control.HowSaved
	_, err := changed(at, what)
	return err
}

// unsaved returns the error for a file that was not replaced after the daemon's change. It names the
// keys that are in force all the same, and those that are not.
func (e *fileEdit) unsaved(err error, diff []control.Difference) error {
	var applied, waiting []string
	for _, s := range e.settings {
		if slices.ContainsFunc(diff, func(d control.Difference) bool { return d.Key == s.Key && !d.Live }) {
			waiting = append(waiting, s.Key)
		} else {
			applied = append(applied, s.Key)
		}
	}
	text := fmt.Sprintf("%s: not saved, and unchanged (%v)", e.file, err)
	if len(applied) > 0 {
		text += "; in force all the same: " + strings.Join(applied, ", ")
	}
	if len(waiting) > 0 {
		text += "; not in force, for the next start reads the file: " + strings.Join(waiting, ", ")
	}
	return errors.New(text)
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
type replacement struct{ temp, target string }

// prepare writes the replacement of the file. If the file is a symbolic link, the replacement is
// for the link's target.
func (e *fileEdit) prepare() (err error) {
	if e.target, err = filepath.EvalSymlinks(e.file); err != nil {
		return err
	}
	if why := fixed(e.target); why != "" {
		return fmt.Errorf("%s cannot be replaced, because %s; without --save, only the running interface changes", e.file, why)
	}
	info, err := os.Stat(e.target)
	if err != nil {
		return err
	}
	// CreateTemp makes a file of mode 0600, and its name does not match drop-in files.
	f, err := os.CreateTemp(filepath.Dir(e.target), ".srdtun-*")
	if err != nil {
		return unwritten(e.file, err)
	}
	e.temp = f.Name()
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		err = f.Chown(int(st.Uid), int(st.Gid))
	}
	if err == nil {
		err = f.Chmod(info.Mode().Perm())
	}
	if err == nil {
		_, err = f.Write(e.text)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		e.drop()
	}
	return unwritten(e.file, err)
}

// unwritten returns the error of a command that cannot write a file, with the name of that file in
// place of a temporary one, and with the remedy.
func unwritten(file string, err error) error {
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return err
	}
	return advised(file, &fs.PathError{Op: "write", Path: file, Err: errno})
}

// advised adds the remedy to an error of writing a file.
func advised(file string, err error) error {
	var errno unix.Errno
	if errors.As(err, &errno) && remedy(file, errno) != "" {
		return fmt.Errorf("%w; %s", err, remedy(file, errno))
	}
	return err
}

// remedy returns the advice for a file that cannot be written, or "".
func remedy(file string, errno unix.Errno) string {
	dir := filepath.Dir(file)
	switch {
	case errno == unix.ENOSPC:
		return "free space in " + dir
	case errno == unix.EDQUOT:
		return "the disk quota in " + dir + " is used up"
	case errno == unix.EROFS:
		return "mount " + dir + " writable"
	case errno == unix.ENOENT:
		return "mkdir -p " + dir
	case errno == unix.EPERM && attributes(dir)&unix.STATX_ATTR_IMMUTABLE != 0:
		return "its directory is immutable: chattr -i " + dir
	}
	return ""
}

// attributes returns the attributes of a file as statx(2) does.
func attributes(path string) uint64 {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, 0, 0, &st) != nil {
		return 0
	}
	return st.Attributes
}

// fixed returns the reason why the kernel would not let another file replace this one, or "".
func fixed(file string) string {
	const mount, immutable, appendOnly = unix.STATX_ATTR_MOUNT_ROOT, unix.STATX_ATTR_IMMUTABLE, unix.STATX_ATTR_APPEND
	of, dir := attributes(file), filepath.Dir(file)
	switch {
	case of&mount != 0:
		return "it is a mount point, as in a container with a volume of one file: mount its directory"
	case of&immutable != 0:
		return "it is immutable: chattr -i " + file
	case of&appendOnly != 0:
		return "it is append-only: chattr -a " + file
	case attributes(dir)&appendOnly != 0:
		return "its directory is append-only: chattr -a " + dir
	case attributes(dir)&immutable != 0:
		return "its directory is immutable: chattr -i " + dir
	}
	return ""
}

func (r *replacement) commit() error {
	err := os.Rename(r.temp, r.target)
	var link *os.LinkError
	if errors.As(err, &link) {
		err = link.Err
	}
	return err
}

// drop removes a replacement that was not committed.
func (r *replacement) drop() {
	// After commit, the temporary file no longer exists, so Remove may fail.
	_ = os.Remove(r.temp)
}
