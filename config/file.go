package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/srdtun/srdtun/internal/bounded"
)

// otherBits are the permissions of group and others, which a file with a private key must not
// have.
const otherBits fs.FileMode = 0o077

// platformBits are the permissions that a container platform may add to a file although the user
// did not choose them. Kubelet makes the files of a secret readable to all users (0644, its
// default) or to a group (fsGroup, 0440). Docker mounts secrets with mode 0444.
const platformBits fs.FileMode = 0o044

// readPrivate reads a regular file of at most `limit` bytes that only its owner may access. The
// errors of readPrivate do not contain the path. readPrivate accepts wider permissions from a
// container platform, and returns them as `wide`.
func readPrivate(path string, limit int64) (data []byte, wide fs.FileMode, err error) {
	// The check before the opening refuses devices and named pipes, because opening a pipe could
	// block for ever. After opening the file, readPrivate checks it again.
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, bare(err)
	}
	if _, err := checkPrivate(path, info); err != nil {
		return nil, 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, bare(err)
	}
	defer func() { _ = f.Close() }()
	if info, err = f.Stat(); err != nil {
		return nil, 0, bare(err)
	}
	if wide, err = checkPrivate(path, info); err != nil {
		return nil, 0, err
	}
	if data, err = bounded.All(f, limit); err != nil {
		return nil, 0, bare(err)
	}
	return data, wide, nil
}

func checkPrivate(path string, info fs.FileInfo) (wide fs.FileMode, err error) {
	if !info.Mode().IsRegular() {
		return 0, errors.New("not a regular file")
	}
	open := info.Mode().Perm() & otherBits
	if isCredential(path) {
		open &^= 0o040
	}
	if open == 0 || open&^platformBits == 0 && platforms(path, info) {
		return open, nil
	}
	return 0, &openError{path, info.Mode().Perm(), os.Getenv(invocation) == "" && onReadOnlyMount(path)}
}

// The constants are results of statfs(2).
const (
	readOnlyMount = 1          // ST_RDONLY
	tmpfsMagic    = 0x01021994 // TMPFS_MAGIC, linux/magic.h
	ramfsMagic    = 0x858458f6 // RAMFS_MAGIC
)

// systemd sets the variable invocation for each service (systemd.exec(5)).
const invocation = "INVOCATION_ID"

// platforms reports whether a container platform provides the file. Kubelet and Docker mount
// secrets read-only and in memory. Other files do not count: for a file on a disk, a user chose the
// mode. A file in the root file system of a container is part of an image, which other people have
// too. A systemd service may see its whole host read-only (ProtectSystem=), but gets keys as
// credentials, so a user chose the mode of its key files as well.
func platforms(path string, info fs.FileInfo) bool {
	var st syscall.Statfs_t
	if os.Getenv(invocation) != "" || syscall.Statfs(path, &st) != nil || st.Flags&readOnlyMount == 0 {
		return false
	}
	if kind := uint32(st.Type); kind != tmpfsMagic && kind != ramfsMagic {
		return false
	}
	root, err := os.Stat("/")
	if err != nil {
		return false
	}
	a, ok := info.Sys().(*syscall.Stat_t)
	b, ok2 := root.Sys().(*syscall.Stat_t)
	return ok && ok2 && a.Dev != b.Dev
}

// onReadOnlyMount reports whether the mode of the file cannot be changed where it is mounted, as
// in a container with a read-only volume.
func onReadOnlyMount(path string) bool {
	var st syscall.Statfs_t
	return syscall.Statfs(path, &st) == nil && st.Flags&readOnlyMount != 0
}

// openError is the error for a private file that others may read or write.
type openError struct {
	path  string
	mode  fs.FileMode
	fixed bool // the mode of the file at path cannot be changed
}

// OthersMay reports whether an error of Load is the mode of a file with a key.
func OthersMay(err error) bool {
	var open *openError
	return errors.As(err, &open)
}

func (e *openError) Error() string {
	if e.fixed {
		return fmt.Sprintf("readable or writable by group or others (mode %04o), on a read-only mount; run chmod 600 on the file that is mounted as %s", e.mode, e.path)
	}
	return fmt.Sprintf("readable or writable by group or others (mode %04o); run: chmod 600 %s", e.mode, e.path)
}

// unlikely returns err, or a different error if the file is probably not a configuration. The error
// err advises a chmod, which would do harm if the file is a system file.
func unlikely(file string, err error) error {
	var open *openError
	if errors.As(err, &open) && filepath.Ext(file) != ".toml" {
		return fmt.Errorf("not named *.toml, and readable or writable by group or others (mode %04o): is it a configuration?", open.mode)
	}
	return err
}

// isCredential reports whether systemd passed the file by LoadCredential= (systemd.exec(5)).
// systemd gives the service's user access by an access control list, whose mask looks like read
// permission for the group. No other user can enter the directory of credentials.
func isCredential(path string) bool {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	return filepath.IsAbs(dir) && filepath.Dir(path) == filepath.Clean(dir)
}

// bare removes the operation and the path from a file error, because the complete message already
// has them.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
