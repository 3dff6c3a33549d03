package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Create opens a file of the directory for reading and writing, making it if it
// is not there. flags are added to O_RDWR|O_CREATE.
//
// The directory may belong to the unprivileged user of a service, so root
// follows no link there, and leaves its files to the directory's owner: else
// what a killed daemon of root leaves behind would lock the service out.
func Create(path string, flags int, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|flags, mode)
	if err != nil {
		return nil, err
	}
	if err := giveToOwner(f, filepath.Dir(path)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func giveToOwner(f *os.File, dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	file, err := f.Stat()
	if err != nil {
		return err
	}
	parent, err := os.Stat(dir)
	if err != nil {
		return err
	}
	have, want := file.Sys().(*syscall.Stat_t), parent.Sys().(*syscall.Stat_t)
	// A second link could be to a file of root's in another directory.
	if !file.Mode().IsRegular() || have.Nlink != 1 {
		return &os.PathError{Op: "open", Path: f.Name(), Err: errors.New("not a regular file with one link")}
	}
	if have.Uid == want.Uid {
		return nil
	}
	return f.Chown(int(want.Uid), int(want.Gid))
}
