package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/srdtun/srdtun/internal/bounded"
)

// maxDropIn bounds a drop-in file in bytes: a peer with some two thousand allowed IPs.
const maxDropIn = 64 << 10

// othersWrite are the permissions of group and others to write.
const othersWrite fs.FileMode = 0o022

// peerDir is a directory of drop-in files that is open. Whoever can put a file there can have
// packets sent to himself, so it belongs to root or to the owner that the configuration
// names, and nobody else may write there.
//
// That owner may add peers, and nothing more: in his directory no link is followed, and a
// file of his cannot have other files read. The reader may have rights that he has not.
type peerDir struct {
	path    string
	root    *os.Root
	owner   uint32 // the user whose files count, besides root's
	trusted bool   // only those put files there who may have this process read anything
}

// openPeerDir looks at the directory itself. It stays the one that was looked at.
func openPeerDir(path string, owner uint32) (*peerDir, error) {
	link, err := os.Lstat(path)
	if err != nil {
		return nil, closed(bare(err))
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, closed(bare(err))
	}
	d := &peerDir{path: path, root: root, owner: owner}
	info, err := root.Stat(".")
	if err == nil {
		err = d.owned(info)
	}
	if uid, ok := ownerOf(link); err == nil && link.Mode()&fs.ModeSymlink != 0 && (!ok || !self(uid)) {
		err = errors.New("is a link, which does not belong to root")
	}
	if err != nil {
		root.Close()
		return nil, bare(err)
	}
	d.trusted = d.trusts(info)
	return d, nil
}

// closed adds to an error of opening the directory who has to be able to.
func closed(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: the daemon's user (%d) has to be able to read it, and to enter all directories above; a service cannot enter /etc/srdtun, so put it in /etc/srdtun-peers, mode 0755",
			err, os.Geteuid())
	}
	return err
}

func (d *peerDir) close() { _ = d.root.Close() }

// IsDropIn reports whether a file of the directory counts: editors' own files begin with
// a dot, or have another end.
func IsDropIn(name string) bool {
	base := filepath.Base(name)
	return strings.HasSuffix(base, ".toml") && !strings.HasPrefix(base, ".")
}

// list returns the files, those of root's first: of two that claim the same, the one that is
// read first counts, and nobody takes something from root by a name. known is what a file
// is that has not changed since it was read; nil: look at it.
func (d *peerDir) list(known func(file string) fs.FileInfo) ([]place, error) {
	entries, err := d.entries()
	if err != nil {
		return nil, closed(bare(err))
	}
	var files []place
	for _, e := range entries {
		if !IsDropIn(e.Name()) {
			continue
		}
		f := place{name: e.Name(), file: filepath.Join(d.path, e.Name())}
		if f.info = known(f.file); f.info != nil {
			f.known = true
		} else if f.info, err = d.root.Lstat(e.Name()); err != nil {
			f.info = nil
		}
		files = append(files, f)
	}
	if len(files) > maxPeers {
		return nil, fmt.Errorf("%d files; at most %d are allowed", len(files), maxPeers)
	}
	slices.SortStableFunc(files, func(a, b place) int { return cmp.Compare(a.rank(), b.rank()) })
	return files, nil
}

// maxEntries bounds the names in a directory, whatever they are: its owner may make millions.
// Each drop-in file may have an editor's copy beside it, and a temporary one.
const maxEntries = 3 * maxPeers

// entries are the names in the directory, in their order.
func (d *peerDir) entries() ([]fs.DirEntry, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxEntries + 1)
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	case len(entries) > maxEntries:
		return nil, fmt.Errorf("more than %d files of any name", maxEntries)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// rank is 0 for root's files.
func (f place) rank() int {
	if f.info != nil {
		if uid, ok := ownerOf(f.info); ok && uid == 0 {
			return 0
		}
	}
	return 1
}

// read reads a regular file that nobody but root and the owner may write. Where the owner
// chooses the names, a file has one name: another could be that of a file which he cannot
// read himself.
func (d *peerDir) read(name string) ([]byte, fs.FileInfo, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, nil, bare(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, bare(err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errNotRegular
	}
	if err := d.owned(info); err != nil {
		return nil, nil, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !d.trusted && (!ok || st.Nlink != 1) {
		return nil, nil, errors.New("has several names (hard links)")
	}
	data, err := bounded.All(f, maxDropIn)
	return data, info, bare(err)
}

// ofDropIn opens a file without waiting for the writer of a named pipe, and without making a
// terminal this process's own.
const ofDropIn = syscall.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY | syscall.O_CLOEXEC

// open opens a file. Looking first keeps a device from being touched. The file may be another
// by then: no link is followed by the open itself, and the caller looks at what was opened.
func (d *peerDir) open(name string) (*os.File, error) {
	if d.trusted {
		file := filepath.Join(d.path, name)
		if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
			return nil, errNotRegular
		}
		return os.OpenFile(file, ofDropIn, 0)
	}
	switch info, err := d.root.Lstat(name); {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, errLink
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	}
	return d.openNoFollow(name)
}

var (
	errLink       = errors.New("is a link, which is followed in a directory of root's only")
	errNotRegular = errors.New("not a regular file")
)

// openNoFollow opens what has this name in the directory itself. os.Root would follow a link
// as far as the directory goes, whatever the flags say.
func (d *peerDir) openNoFollow(name string) (*os.File, error) {
	dir, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	raw, err := dir.SyscallConn()
	if err != nil {
		return nil, err
	}
	var file *os.File
	failed := raw.Control(func(at uintptr) {
		var fd int
		if fd, err = syscall.Openat(int(at), name, ofDropIn|syscall.O_NOFOLLOW, 0); err == nil {
			file = os.NewFile(uintptr(fd), filepath.Join(d.path, name))
		}
	})
	if errors.Is(err, syscall.ELOOP) {
		err = errLink
	}
	return file, cmp.Or(failed, err)
}

// owned refuses what somebody else may write.
func (d *peerDir) owned(info fs.FileInfo) error {
	uid, ok := ownerOf(info)
	switch {
	case !ok:
		return errors.New("its owner is not known")
	case uid != 0 && uid != d.owner:
		return fmt.Errorf("belongs to user %s; want root, or the user that [peers] owner names", userName(uid))
	case info.Mode().Perm()&othersWrite != 0:
		return fmt.Errorf("writable by group or others (mode %04o)", info.Mode().Perm())
	}
	return nil
}

// trusts reports whether what info is of belongs to somebody who may have this process read
// whatever it can: links and files that are named are followed.
func (d *peerDir) trusts(info fs.FileInfo) bool {
	uid, ok := ownerOf(info)
	return ok && self(uid) && (d.trusted || info.IsDir())
}

// self reports whether a user is root or this process's own.
func self(uid uint32) bool { return uid == 0 || uid == uint32(os.Geteuid()) }

func ownerOf(info fs.FileInfo) (uid uint32, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return st.Uid, true
}

// dropInOwner is the user whose drop-in files count, besides root's: the one that is named,
// or that of this process. A daemon's user may be other services' as well, so whoever shares
// it with somebody should name another.
func (c *Config) dropInOwner() (uid uint32, err error) {
	if c.PeersOwner == "" {
		return uint32(os.Geteuid()), nil
	}
	n, err := strconv.ParseUint(c.PeersOwner, 10, 32)
	if err != nil {
		u, err := user.Lookup(c.PeersOwner)
		if err != nil {
			return 0, c.fault("peers", "owner", "this host has no user %s; give a user of /etc/passwd, or a number", quoted(c.PeersOwner))
		}
		if n, err = strconv.ParseUint(u.Uid, 10, 32); err != nil {
			return 0, c.fault("peers", "owner", "the number of user %s is not known", quoted(c.PeersOwner))
		}
	}
	return uint32(n), nil
}

// userName is a user's number, with the name if there is one.
func userName(uid uint32) string {
	number := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(number); err == nil {
		return fmt.Sprintf("%s (%s)", number, u.Username)
	}
	return number
}

// validUser is how a user is named: as useradd(8) takes it, or by number.
func validUser(name string) bool {
	if len(name) == 0 || len(name) > maxUserBytes {
		return false
	}
	for i, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '_', r >= '0' && r <= '9':
		case i > 0 && (r == '-' || r == '.'):
		default:
			return false
		}
	}
	return true
}

// maxUserBytes is the longest name of a user: useradd(8).
const maxUserBytes = 32

// owner reads a user's name or number. Both have the same bound, so that "4294967295" is
// refused as 4294967295 is.
func (s section) owner(key string) string {
	name := ""
	if n, ok := s.vals[key].(int64); ok {
		name = strconv.FormatInt(n, 10)
	} else {
		name = s.text(key, "")
	}
	switch n, err := strconv.ParseInt(name, 10, 64); {
	case !s.has(key):
	case !s.has("dir"):
		s.fail(key, "says whose files of dir count, and there is no dir")
	case name == "" && kind(s.vals[key]) != "a string": // text has told that
	case err == nil && (n < 0 || n > maxUID):
		s.fail(key, "there is no user %d; want a number up to %d, or a name", n, int64(maxUID))
	case err != nil && !validUser(name):
		s.fail(key, "%s is no user; want a name or a number", quoted(name))
	}
	return name
}

// maxUID is the largest number of a user: credentials(7). The next one, -1 in 32 bits, means
// "no user" in system calls.
const maxUID = 1<<32 - 2
