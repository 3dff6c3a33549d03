package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/internal/bounded"
)

// The run directory may belong to the unprivileged user of a service. The directory's owner can put
// links and pipes into it at any moment, so a process of root follows no links, and checks the file
// after opening it. After the check it uses only the open descriptor, because the name may lead to
// another file by then.

type directory struct{ fd int }

func openDirectory(path string) (directory, error) {
	dir := filepath.Dir(path)
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return directory{}, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return directory{fd}, nil
}

func (d directory) close() { unix.Close(d.fd) }

// open opens a regular file that has exactly one link. The method open() blocks neither on a pipe
// that nobody else has opened nor on a file lease.
func (d directory) open(path string, flags int, mode fs.FileMode) (*os.File, error) {
	flags |= unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := unix.Openat(d.fd, filepath.Base(path), flags, uint32(mode.Perm()))
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	if err := d.check(fd, flags&unix.O_EXCL != 0); err != nil {
		return nil, errors.Join(&os.PathError{Op: "open", Path: path, Err: err}, f.Close())
	}
	return f, nil
}

// check returns an error if an open file is not safe to use. An attacker may remove a second link
// to a file before the check counts the links, so a process of root also compares owners. A new
// file is given to the owner of the directory, and an existing file must already belong to him.
func (d directory) check(fd int, made bool) error {
	var file, dir unix.Stat_t
	if err := errors.Join(unix.Fstat(fd, &file), unix.Fstat(d.fd, &dir)); err != nil {
		return err
	}
	give, err := judge(file, dir, made)
	if give {
		return unix.Fchown(fd, int(dir.Uid), int(dir.Gid))
	}
	return err
}

// judge returns an error if a file of a directory is not safe to use, or whether the file must be
// given to the owner of the directory.
func judge(file, dir unix.Stat_t, made bool) (give bool, err error) {
	switch {
	case file.Mode&unix.S_IFMT != unix.S_IFREG || file.Nlink != 1:
		return false, errors.New("not a regular file with one link")
	case os.Geteuid() != 0 || file.Uid == dir.Uid:
		return false, nil
	case made, dir.Uid == 0 && dir.Mode&writableByOthers == 0:
		// Root may have become the owner of the directory after another user created the file.
		return true, nil
	}
	return false, errors.New("belongs to another user than its directory")
}

// writableByOthers are the mode bits that let users other than the owner create names.
const writableByOthers = 0o022

// createTries bounds the attempts at a file that other processes keep making and removing.
const createTries = 100

// Create opens a file for reading and writing, and creates it if it is missing. The given flags are
// added to O_RDWR|O_CREATE. A process of root gives a new file to the owner of the directory.
// Otherwise the service could not open files that a killed daemon of root left there.
func Create(path string, flags int, mode fs.FileMode) (f *os.File, err error) {
	d, err := openDirectory(path)
	if err != nil {
		return nil, err
	}
	defer d.close()
	for range createTries {
		f, err = d.open(path, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|flags, mode)
		if !errors.Is(err, fs.ErrExist) || flags&unix.O_EXCL != 0 {
			break
		}
		f, err = d.open(path, unix.O_RDWR|flags, mode)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return f, err
}

// Read returns the content of a file, if it has at most `limit` bytes.
func Read(path string, limit int64) ([]byte, error) {
	d, err := openDirectory(path)
	if err != nil {
		return nil, err
	}
	defer d.close()
	f, err := d.open(path, unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := bounded.All(f, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}

// Replace gives a file new content atomically, so a reader finds either the whole old content or
// the whole new content. If Replace fails, the old file remains, and no temporary file is left.
func Replace(path string, data []byte, mode fs.FileMode) error {
	temp := path + Temporary
	if err := os.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := Create(temp, unix.O_EXCL, mode)
	if err != nil {
		return Explain(named(path, err))
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(Explain(named(path, err)), os.Remove(temp))
	}
	return nil
}

// named returns the error of a temporary file with the name of the file that it stands for.
func named(path string, err error) error {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return &os.PathError{Op: "write", Path: path, Err: errno}
	}
	return err
}

// Temporary is the suffix of an unfinished file. Removing or renaming an unfinished file follows
// no link.
const Temporary = ".new"
