// Package dropdir manages an agent's files in the daemon's directory of drop-in peers. The
// package changes only files whose names begin with "fleet-".
package dropdir

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/internal/bounded"
)

const (
	// mark is the prefix of the names of an agent's files.
	mark = "fleet-"
	// ext is the file name extension that the daemon requires.
	ext = ".toml"
	// scratch is the name of a file that is being written. The daemon ignores file names that begin
	// with a dot. One such name is enough, because an agent writes one file at a time.
	scratch = ".fleet-agent.tmp"
	// maxFile bounds the size of a file in bytes. The daemon has the same limit.
	maxFile = 64 << 10
	// othersWrite has the write permissions of group and others.
	othersWrite = 0o022
	// fileMode lets all users read the files, because the daemon runs as another user, and the
	// files contain no secret.
	fileMode = 0o644
)

// Dir is an open directory of drop-in files. A Dir must not be used concurrently.
type Dir struct {
	root *os.Root
	have map[string][]byte // content of each member's file, by the member's name
}

// Open checks a directory, and reads the files of an earlier agent. The directory must belong to
// root or to this user, and no other user may write to it.
func Open(path string) (*Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	d := &Dir{root: root, have: map[string][]byte{}}
	if err := d.check(); err != nil {
		root.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := d.read(); err != nil {
		root.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// Close closes the directory, and leaves the files.
func (d *Dir) Close() error { return d.root.Close() }

func (d *Dir) check() error {
	info, err := d.root.Stat(".")
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return errors.New("its owner is not known")
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("belongs to user %d; want root or the user of the agent", st.Uid)
	case info.Mode().Perm()&othersWrite != 0:
		return fmt.Errorf("writable by group or others (mode %04o)", info.Mode().Perm())
	}
	return nil
}

func (d *Dir) read() error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, ours := memberOf(e.Name())
		if !ours {
			continue
		}
		// An unreadable file counts as a file without a record, so the agent later removes it.
		data, _ := d.content(e.Name())
		d.have[name] = data
	}
	return nil
}

func (d *Dir) content(file string) ([]byte, error) {
	f, err := d.root.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return bounded.Content(f, maxFile)
}

// memberOf returns the member to which a file belongs. The result `ours` is false if the file was
// not written by an agent.
func memberOf(file string) (name string, ours bool) {
	name, ours = strings.CutPrefix(filepath.Base(file), mark)
	if !ours {
		return "", false
	}
	name, ours = strings.CutSuffix(name, ext)
	return name, ours && fleet.CheckName(name) == nil
}

// Files returns the known contents of the files by member.
func (d *Dir) Files() map[string][]byte { return d.have }

// Apply writes or removes one file. Apply replaces a file atomically, with mode 0644. Apply does
// not wait until the data is on the disk. After a loss of power, a file may be missing or empty.
// The next process writes it again.
func (d *Dir) Apply(c fleet.Change) (changed bool, err error) {
	if err := fleet.CheckName(c.Name); err != nil {
		return false, err
	}
	before, there := d.have[c.Name]
	file := mark + c.Name + ext
	if c.File == nil {
		if !there {
			return false, nil
		}
		if err := d.root.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return false, err
		}
		delete(d.have, c.Name)
		return true, nil
	}
	if there && bytes.Equal(before, c.File) {
		return false, nil
	}
	if err := d.write(file, c.File); err != nil {
		return false, err
	}
	d.have[c.Name] = c.File
	return true, nil
}

func (d *Dir) write(file string, data []byte) error {
	// An earlier process may have left an unfinished file.
	if err := d.root.Remove(scratch); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := d.root.OpenFile(scratch, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(fileMode), f.Close()); err == nil { // independent of the umask
		err = d.root.Rename(scratch, file)
	}
	if err != nil {
		return errors.Join(err, d.root.Remove(scratch))
	}
	return nil
}
