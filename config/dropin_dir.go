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

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/internal/bounded"
)

// maxDropIn bounds the size of a drop-in file in bytes. A file of 64 KiB holds a peer with some
// two thousand allowed IPs.
const maxDropIn = 64 << 10

// othersWrite are the write permissions of group and others.
const othersWrite fs.FileMode = 0o022

// peerDir is an open directory of drop-in files. A user who can add a file to the directory can
// direct packets to a peer. So the directory must belong to root or to the configured owner, and no
// other user may write to it.
//
// The configured owner may only add peers, because the daemon may have more rights than the
// owner. In the owner's directory the daemon follows no link, and the owner's files cannot make
// it read other files.
type peerDir struct {
	path    string
	root    *os.Root
	owner   uint32 // the owner of drop-in files besides root
	trusted bool   // the process follows links and key files, because the directory's owner is trusted
	left    int64  // number of bytes that may still be read
}

// openPeerDir opens a directory of drop-in files, and checks its owner and mode. Later reads use
// the open directory, so replacing the path's directory has no effect.
func openPeerDir(path string, owner uint32) (*peerDir, error) {
	link, err := os.Lstat(path)
	if err != nil {
		return nil, closed(bare(err))
	}
	if uid, ok := ownerOf(link); link.Mode()&fs.ModeSymlink != 0 && (!ok || !self(uid)) {
		return nil, errors.New("is a link, which does not belong to root")
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, closed(bare(err))
	}
	d := &peerDir{path: path, root: root, owner: owner}
	info, err := root.Stat(".")
	if err == nil {
		err = sameDirectory(link, info)
	}
	if err == nil {
		err = d.owned(info)
	}
	if err != nil {
		root.Close()
		return nil, bare(err)
	}
	d.trusted = d.trusts(info)
	return d, nil
}

// sameDirectory returns an error if the directory was replaced between its check and its opening.
// For instance, a symbolic link of root may get another target in between.
func sameDirectory(examined, opened fs.FileInfo) error {
	if examined.Mode()&fs.ModeSymlink == 0 && !os.SameFile(examined, opened) {
		return errors.New("another directory has replaced it")
	}
	return nil
}

// closed adds to a permission error which user must be able to read the directory.
func closed(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: the daemon's user (%s) has to be able to read it, and to enter all directories above; a service cannot enter /etc/srdtun, so put it in /etc/srdtun-peers, mode 0755",
			err, daemonUser())
	}
	return err
}

func (d *peerDir) close() { _ = d.root.Close() }

// IsDropIn reports whether a name has the form of a drop-in file's name. The temporary files of
// editors begin with a dot, or have another extension.
func IsDropIn(name string) bool {
	base := filepath.Base(name)
	return strings.HasSuffix(base, ".toml") && !strings.HasPrefix(base, ".")
}

// list returns the drop-in files, with root's files first. If two files claim the same key, name
// or prefix, the earlier file wins, so root's files win over those of other users. The function
// known() returns the stored information of an unchanged file, or nil.
func (d *peerDir) list(known func(file string) fs.FileInfo) ([]place, error) {
	names, err := d.names()
	if err != nil {
		return nil, closed(bare(err))
	}
	files, left := make([]place, 0, len(names)), int64(maxDropIns)
	for _, name := range names {
		f := place{name: name, file: filepath.Join(d.path, name)}
		if f.info = known(f.file); f.info != nil {
			f.known = true
		} else if f.info, err = d.root.Lstat(name); err != nil {
			f.info = nil
		}
		if f.info != nil && f.info.Mode().IsRegular() && f.info.Size() <= maxDropIn { // larger ones are not read
			left -= f.info.Size()
		}
		files = append(files, f)
	}
	if d.left = maxDropIn * maxPeers; !d.trusted {
		d.left = maxDropIns
	}
	if left < 0 && !d.trusted {
		return nil, fmt.Errorf("has files of more than %d MiB", maxDropIns>>20)
	}
	slices.SortStableFunc(files, func(a, b place) int { return cmp.Compare(a.rank(), b.rank()) })
	return files, nil
}

const (
	// maxDropIns bounds the total size of another user's drop-in files in bytes: 4 KiB for each of
	// maxPeers. Reading the files takes time, and their peers take memory. A file written by a
	// fleet's agent has about 1 KiB.
	maxDropIns = 4096 * maxPeers
	// maxEntries bounds the number of entries in a directory, because its owner could create
	// millions. For each drop-in file, there may be an editor's backup and a temporary file.
	maxEntries = 3 * maxPeers
	// entriesAtOnce is the number of names that one system call reads.
	entriesAtOnce = 256
)

// names returns the sorted names of drop-in files, and skips all other entries of the directory.
func (d *peerDir) names() (v []string, err error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for seen := 0; ; {
		some, err := f.Readdirnames(entriesAtOnce)
		if seen += len(some); seen > maxEntries {
			return nil, fmt.Errorf("has more than %d files of any name", maxEntries)
		}
		for _, name := range some {
			if IsDropIn(name) {
				v = append(v, name)
			}
		}
		switch {
		case len(v) > maxPeers:
			return nil, fmt.Errorf("has more than %d files *.toml", maxPeers)
		case errors.Is(err, io.EOF):
			slices.Sort(v)
			return v, nil
		case err != nil:
			return nil, err
		}
	}
}

// rank orders files by owner: 0 for root's files, 1 for the files of other users.
func (f place) rank() int {
	if f.ofRoot() {
		return 0
	}
	return 1
}

// ofRoot reports whether the file belonged to root when it was listed.
func (f place) ofRoot() bool { return f.info != nil && ofRoot(f.info) }

func ofRoot(info fs.FileInfo) bool {
	uid, ok := ownerOf(info)
	return ok && uid == 0
}

// guests reports whether a file's owner is neither root nor this process's user.
func (d *peerDir) guests(f place) bool {
	if f.info == nil {
		return !d.trusted
	}
	uid, ok := ownerOf(f.info)
	return !ok || !self(uid)
}

// read reads a regular file, and refuses it if users other than root and the owner may write it. In
// another user's directory, read() refuses hard links, because that user may have no right to read
// the linked file.
func (d *peerDir) read(name string) ([]byte, fs.FileInfo, error) {
	f, err := d.open(name)
	if errors.Is(err, fs.ErrPermission) {
		err = d.withheld(name, err)
	}
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
	// The owner may have made the files larger since the listing.
	data, err := bounded.All(f, min(maxDropIn, max(d.left, 0)))
	d.left -= int64(len(data))
	return data, info, bare(err)
}

// withheld returns the reason why this process may not open a file. A file that root does not
// accept has its owner as the reason, because the daemon has given up the right to open it.
func (d *peerDir) withheld(name string, err error) error {
	if info, failed := d.root.Stat(name); failed == nil {
		if why := d.owned(info); why != nil {
			return why
		}
	}
	return fmt.Errorf("%w: the daemon's user (%s) has to be able to read it", bare(err), daemonUser())
}

// daemonUser names the user that reads drop-in files. User 0 reads them without the capabilities
// with which root may read any file.
func daemonUser() string {
	if os.Geteuid() == 0 {
		return "0, without capabilities"
	}
	return strconv.Itoa(os.Geteuid())
}

// ofDropIn has flags for open(2). With them, opening a named pipe does not block, and opening a
// terminal does not make it the controlling terminal.
const ofDropIn = syscall.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY | syscall.O_CLOEXEC

// open checks the type of a file before the opening, so that it never opens a device. Another
// file may replace the checked one before the opening. In another user's directory, open()
// therefore follows no link, and the caller checks the open file again.
func (d *peerDir) open(name string) (*os.File, error) {
	if d.trusted {
		return d.openAt(name, 0)
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
	errLink       = errors.New("is a link; links are followed only in root's directories")
	errNotRegular = errors.New("not a regular file")
)

// openNoFollow opens a file of the directory without following links. os.Root follows links
// within the directory with any flags.
func (d *peerDir) openNoFollow(name string) (*os.File, error) {
	f, err := d.openAt(name, syscall.O_NOFOLLOW)
	if errors.Is(err, syscall.ELOOP) {
		err = errLink
	}
	return f, err
}

// openAt opens a regular file relative to the open directory, with further flags. The path of the
// directory may lead to another directory by now, so openAt does not use it.
func (d *peerDir) openAt(name string, flags int) (file *os.File, err error) {
	dir, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	raw, err := dir.SyscallConn()
	if err != nil {
		return nil, err
	}
	failed := raw.Control(func(at uintptr) {
		var st unix.Stat_t
		if flags&syscall.O_NOFOLLOW == 0 && unix.Fstatat(int(at), name, &st, 0) == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
			err = errNotRegular
			return
		}
		var fd int
		if fd, err = syscall.Openat(int(at), name, ofDropIn|flags, 0); err == nil {
			file = os.NewFile(uintptr(fd), filepath.Join(d.path, name))
		}
	})
	return file, cmp.Or(failed, err)
}

// owned returns an error for a file or directory that users other than root and the configured
// owner may write.
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

// trusts reports whether the owner of a file may make this process read any other file. The
// process follows links and key files only for a trusted owner.
func (d *peerDir) trusts(info fs.FileInfo) bool {
	uid, ok := ownerOf(info)
	return ok && self(uid) && (d.trusted || info.IsDir())
}

// self reports whether uid is root or the user of this process.
func self(uid uint32) bool { return uid == 0 || uid == uint32(os.Geteuid()) }

func ownerOf(info fs.FileInfo) (uid uint32, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return st.Uid, true
}

// dropInOwner returns the user, besides root, who owns drop-in files: the configured user, or the
// user of this process. A configuration should name a separate user if other services run as the
// daemon's user.
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

// userName prints the number of a user, and the name if there is one.
func userName(uid uint32) string {
	number := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(number); err == nil {
		return fmt.Sprintf("%s (%s)", number, u.Username)
	}
	return number
}

// validUser reports whether `name` can denote a user. It is a name that useradd(8) accepts, or a
// number.
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

// maxUserBytes is the maximum length of a user name in bytes (useradd(8)).
const maxUserBytes = 32

// owner parses the name or the number of a user. A number in quotes has the same range as a
// number without quotes.
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
		s.fail(key, "names the owner of the files in dir, but dir is missing")
	case name == "" && kind(s.vals[key]) != "a string": // the method text() has reported the wrong type
	case err == nil && (n < 0 || n > maxUID):
		s.fail(key, "there is no user %d; want a number up to %d, or a name", n, int64(maxUID))
	case err != nil && !validUser(name):
		s.fail(key, "%s is not a user; want a name or a number", quoted(name))
	}
	return name
}

// maxUID is the largest user number (credentials(7)). The next number, -1 in 32 bits, means "no
// user" in system calls.
const maxUID = 1<<32 - 2
