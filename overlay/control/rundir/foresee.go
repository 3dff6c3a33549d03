package rundir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Foresee returns the error with which a daemon could not use the run directory now. If the
// directory is missing, Foresee judges the directory in which Make would create it. Foresee
// changes nothing.
func Foresee(name string) error {
	if err := usable(); err != nil {
		return err
	}
	path, err := Path(name, Lock)
	if err != nil {
		return err
	}
	at := filepath.Dir(path)
	st, err := os.Lstat(at)
	for ; errors.Is(err, os.ErrNotExist); st, err = os.Stat(at) {
		path, at = at, filepath.Dir(at)
	}
	if err == nil && !st.IsDir() {
		err = &os.PathError{Op: "open", Path: at, Err: unix.ENOTDIR}
	}
	if err == nil {
		err = roomIn(at)
	}
	if err != nil {
		return Explain(err)
	}
	if err := Writable(path); err != nil {
		return Explain(err)
	}
	return left(name)
}

// left returns an error if something that is no file of an interface has the name of one.
func left(name string) error {
	lock, err := Path(name, Lock)
	if err != nil {
		return err
	}
	socket := strings.TrimSuffix(lock, Lock) + Socket
	if err := tooLong(socket); err != nil {
		return err
	}
	var dir, file unix.Stat_t
	if unix.Stat(filepath.Dir(lock), &dir) != nil {
		return nil // Make creates the directory
	}
	if unix.Lstat(lock, &file) == nil {
		if _, err := judge(file, dir, false); err != nil {
			return &os.PathError{Op: "open", Path: lock, Err: err}
		}
	}
	if unix.Lstat(socket, &file) == nil && file.Mode&unix.S_IFMT == unix.S_IFDIR {
		return &os.PathError{Op: "listen", Path: socket, Err: unix.EISDIR}
	}
	return nil
}

// Writable returns the error with which this process could not create a file now.
func Writable(path string) error {
	dir := filepath.Dir(path)
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	return nil
}

// A running interface has fewest files and blocks in its run directory: a lock, a socket, and a
// state file that is written anew.
const (
	fewestFiles  = 4
	fewestBlocks = 2
)

// roomIn returns an error if a directory has no room for the files of an interface. A file system
// that does not count its files has room for them.
func roomIn(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	if st.Blocks > 0 && st.Bfree < fewestBlocks || st.Files > 0 && st.Ffree < fewestFiles {
		return &os.PathError{Op: "write", Path: dir, Err: unix.ENOSPC}
	}
	return nil
}
