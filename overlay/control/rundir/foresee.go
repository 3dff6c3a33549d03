package rundir

import (
	"errors"
	"os"
	"path/filepath"

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
	return Explain(Writable(path))
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
