package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// otherBits are the permissions of group and others: nobody but the owner may
// read or replace a private key.
const otherBits fs.FileMode = 0o077

// readPrivate reads a regular file of at most most bytes that only its owner may
// read and write. Its errors do not repeat the path.
func readPrivate(path string, most int64) ([]byte, error) {
	// Looking before opening keeps a named pipe from blocking for ever and a
	// device from being touched; what was opened is looked at once more.
	info, err := os.Stat(path)
	if err != nil {
		return nil, bare(err)
	}
	if err := checkPrivate(path, info); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, bare(err)
	}
	defer func() { _ = f.Close() }()
	if info, err = f.Stat(); err != nil {
		return nil, bare(err)
	}
	if err := checkPrivate(path, info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, bare(err)
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("the file has more than %d bytes", most)
	}
	return data, nil
}

func checkPrivate(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	open := info.Mode().Perm() & otherBits
	if isCredential(path) {
		open &^= 0o040
	}
	if open != 0 {
		return &openError{path, info.Mode().Perm()}
	}
	return nil
}

// openError is of a file that others may read or write.
type openError struct {
	path string
	mode fs.FileMode
}

func (e *openError) Error() string {
	return fmt.Sprintf("readable or writable by group or others (mode %04o); run: chmod 600 %s", e.mode, e.path)
}

// unlikely returns err, or what to say instead where a command was given some other file
// of the system's: following the advice to close it would do harm.
func unlikely(file string, err error) error {
	var open *openError
	if errors.As(err, &open) && filepath.Ext(file) != ".toml" {
		return fmt.Errorf("not named *.toml, and readable or writable by group or others (mode %04o): is it a configuration?", open.mode)
	}
	return err
}

// isCredential reports whether the service manager passed the file with
// LoadCredential= (systemd.exec(5)). It grants the service's user access by an
// access control list, whose mask shows as the group's permission to read, in a
// directory that nobody else can enter.
func isCredential(path string) bool {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	return filepath.IsAbs(dir) && filepath.Dir(path) == filepath.Clean(dir)
}

// bare drops the operation and the path from a file error, which the reader of
// the error has seen already.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
