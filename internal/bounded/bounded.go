// Package bounded reads files up to a limit in bytes. So a huge file cannot make its reader use
// too much memory.
package bounded

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// TooLong is the error for a file with more bytes than its reader accepts.
type TooLong struct{ Most int64 }

func (e *TooLong) Error() string { return fmt.Sprintf("the file has more than %d bytes", e.Most) }

// ErrIrregular is the error for a directory, a device, a pipe or a socket.
var ErrIrregular = errors.New("not a regular file")

// All reads r to its end. If r has more than `limit` bytes, All returns an error and no data.
func All(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > limit:
		return nil, &TooLong{limit}
	}
	return data, nil
}

// File reads a file of up to `limit` bytes, or a pipe until its end.
func File(name string, limit int64) ([]byte, error) {
	return read(name, 0, func(f *os.File) ([]byte, error) { return All(f, limit) })
}

// Regular reads a regular file. For any other file, Regular returns ErrIrregular, and never waits
// for the writer of a pipe.
func Regular(name string, limit int64) ([]byte, error) {
	return look(name, func(f *os.File) ([]byte, error) { return Content(f, limit) })
}

// Content is like Regular, but for an open file.
func Content(f *os.File, limit int64) ([]byte, error) {
	if err := regular(f); err != nil {
		return nil, err
	}
	return All(f, limit)
}

// Head reads the first bytes of a regular file.
func Head(name string, limit int64) ([]byte, error) {
	return look(name, func(f *os.File) ([]byte, error) {
		if err := regular(f); err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(f, limit))
	})
}

func regular(f *os.File) error {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrIrregular
	}
	return err
}

// look is like read, but checks that the file is regular before it opens it. The function
// content() checks this again for the open file.
func look(name string, content func(*os.File) ([]byte, error)) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", name, ErrIrregular)
	}
	return read(name, syscall.O_NONBLOCK, content)
}

// read opens a file and reads it with the function content(). Each error contains the file's name
// once.
func read(name string, flags int, content func(*os.File) ([]byte, error)) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOCTTY|flags, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := content(f)
	var path *fs.PathError
	if err != nil && !errors.As(err, &path) {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return data, err
}
