package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/srdtun/srdtun/internal/keytext"
)

// DropIns reads a directory of drop-in files repeatedly. After the first time it reads only changed
// files, because a fleet may have thousands of files. The zero value of DropIns has read no file.
// DropIns is not safe for concurrent use.
type DropIns struct {
	// Around returns facts about the host for the check of guest peers; nil means that only the
	// host's addresses count.
	Around func() Around

	policy string             // the default policy when the files were read
	read   map[string]readOne // results by file name
	last   []Peer             // peers at the last reading of the whole directory, in order
}

// readOne is the stored result of reading a valid file. The stored peer does not depend on other
// files.
type readOne struct {
	info fs.FileInfo
	at   time.Time // when the file was examined
	peer Peer
}

// place is the name of a drop-in file in the directory, and its file information.
type place struct {
	name, file string      // without and with its directory
	info       fs.FileInfo // from lstat(2); nil: the file does not exist any more
	known      bool        // the file is known to be unchanged, and info is from an earlier reading
}

// refused is a file that was left out, with its error.
type refused struct {
	name  string
	guest bool // the file belongs to a guest
	err   error
}

// racy is a time within which a file may change twice and keep the same time stamp. Time stamps
// advance with the kernel's clock tick, which is at most 10 ms. racy is much longer, for safety.
const racy = 100 * time.Millisecond

// unchanged reports whether a file has not changed since it was read.
func (r readOne) unchanged(now fs.FileInfo) bool {
	a, ok := r.info.Sys().(*syscall.Stat_t)
	b, ok2 := now.Sys().(*syscall.Stat_t)
	return ok && ok2 && a.Dev == b.Dev && a.Ino == b.Ino && a.Size == b.Size && a.Mode == b.Mode && a.Uid == b.Uid &&
		a.Mtim == b.Mtim && a.Ctim == b.Ctim && r.at.Sub(time.Unix(a.Ctim.Unix())) > racy
}

// WithDropIns calls [DropIns.With] on a new DropIns.
func WithDropIns(c *Config) (with *Config, faults []error, err error) {
	return new(DropIns).With(c, nil)
}

// CheckDropIns reads the drop-in directory of c as the daemon does, and returns the first fault
// as an error.
func CheckDropIns(c *Config) (with *Config, err error) {
	with, faults, guests, err := JudgeDropIns(c)
	if all := append(faults, guests...); err == nil && len(all) > 0 {
		err = all[0]
	}
	if err != nil {
		return nil, err
	}
	return with, nil
}

// JudgeDropIns is like CheckDropIns, but returns the fault of every file. It returns the faults of
// guest files separately, because the daemon starts without these files.
func JudgeDropIns(c *Config) (with *Config, faults, guests []error, err error) {
	with, all, err := WithDropIns(c)
	if err != nil {
		if ofKey(err) {
			return nil, nil, nil, err
		}
		return nil, nil, nil, c.fault("peers", "dir", "%v", err)
	}
	for _, f := range all {
		var whole *DirFault
		switch {
		case !OfGuest(f):
			faults = append(faults, f)
		case errors.As(f, &whole):
			guests = append(guests, c.fault("peers", "dir", "%s: %v", whole.Dir, whole.Err))
		default:
			guests = append(guests, f)
		}
	}
	return with, faults, guests, nil
}

// DropInFault returns an error that names the key for an error of With. A fault of the directory
// itself is not an *Error, because the fault may be temporary.
func (c *Config) DropInFault(err error) error {
	if ofKey(err) {
		return err
	}
	var e *Error
	if errors.As(err, &e) && errors.Is(e.cause, fs.ErrPermission) {
		return c.Fault("peers", "dir", "%s: %w", e.File, e.cause) // a fault that does not go away by itself
	}
	return c.Fault("peers", "dir", "%v", err)
}

func ofKey(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Key != ""
}

// With returns c with the peers that its drop-in directory has now. With leaves out a file that is
// invalid, or contradicts the configuration or an earlier file. The result `faults` has an error
// for each file left out. Files of root have precedence over files of other users. Within each
// group, files are sorted by name. With does not read a file again if the function changed()
// returns false for the file's name. If `changed` is nil, all files may have changed.
//
// With returns an error if it cannot read the directory at all. If another user owns the directory,
// that user must not be able to prevent a change or a start. So if such a directory is unreadable,
// With keeps the peers of the last reading, and faults has a [*DirFault].
func (d *DropIns) With(c *Config, changed func(file string) bool) (with *Config, faults []error, err error) {
	all := *c
	all.Peers = slices.Clone(c.Peers)
	all.Peers = slices.DeleteFunc(all.Peers, func(p Peer) bool { return p.File != "" })
	if c.PeersDir == "" {
		return &all, nil, nil
	}
	owner, err := c.dropInOwner()
	if err != nil {
		return nil, nil, err
	}
	dir, files, err := d.scan(c.PeersDir, owner, changed)
	if err != nil && self(owner) {
		return nil, nil, c.dirError(err)
	}
	seen := newCensus(&all, d.around)
	if err != nil {
		faults = d.keep(&all, seen)
		return &all, append([]error{&DirFault{c.dirShown(), err, len(d.last) > 0}}, faults...), nil
	}
	defer dir.close()
	if d.policy != all.Paths.Policy {
		d.policy, d.read = all.Paths.Policy, nil
	}
	before := d.read
	seen.grow(len(files))
	d.read = make(map[string]readOne, len(files))
	d.last = make([]Peer, 0, len(files))
	var wrong []refused
	for _, f := range files {
		p, err := d.peerOf(seen, dir, f, before)
		switch {
		case errors.Is(err, errGone):
		case err != nil:
			wrong = append(wrong, refused{f.name, p.Guest, err})
		default:
			d.last = append(d.last, p)
		}
	}
	all.Peers = append(all.Peers, d.last...)
	slices.SortFunc(wrong, func(a, b refused) int { return cmp.Compare(a.name, b.name) })
	for _, r := range wrong {
		if r.guest {
			r.err = &guestFault{r.err}
		}
		faults = append(faults, r.err)
	}
	return &all, faults, nil
}

// dirError returns the error for an unreadable directory.
func (c *Config) dirError(err error) error {
	return &Error{File: c.dirShown(), Msg: err.Error(), cause: err}
}

// dirShown returns the directory's name for a message. A user may have typed a key as the
// directory's name, so dirShown hides a name that does not exist.
func (c *Config) dirShown() string {
	for there := c.PeersDir; there != filepath.Dir(there); there = filepath.Dir(there) {
		if _, err := os.Lstat(there); err == nil {
			return there + keytext.Hide(c.PeersDir[len(there):], nil)
		}
	}
	return keytext.Hide(c.PeersDir, nil)
}

// around returns the facts for the check of guest peers.
func (d *DropIns) around() Around {
	if d.Around != nil {
		return d.Around()
	}
	return Around{Own: HostAddresses()}
}

// scan opens the directory, and lists its files. The caller closes the directory, unless scan
// returns an error.
func (d *DropIns) scan(path string, owner uint32, changed func(string) bool) (*peerDir, []place, error) {
	dir, err := openPeerDir(path, owner)
	if err != nil {
		return nil, nil, err
	}
	files, err := dir.list(func(file string) fs.FileInfo {
		if old, kept := d.read[file]; kept && changed != nil && !changed(file) {
			return old.info
		}
		return nil
	})
	if err != nil {
		dir.close()
		return nil, nil, err
	}
	return dir, files, nil
}

// keep adds the peers of the last reading to c, if they have no conflict with c. If root has
// removed a file of root's, keep() leaves out its peer.
func (d *DropIns) keep(c *Config, seen *census) (faults []error) {
	for i := range d.last {
		p := &d.last[i]
		if !p.Guest && removed(p.File) {
			continue
		}
		if v := seen.clashes(p); len(v) > 0 {
			faults = append(faults, p.Fault(v[0].key, v[0].why))
			continue
		}
		seen.add(p)
		c.Peers = append(c.Peers, *p)
	}
	return faults
}

// removed reports whether a file is missing while its directory still exists.
func removed(file string) bool {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, err := os.Stat(filepath.Dir(file))
	return err == nil
}

// DirFault is the error for an unreadable directory that belongs to a user other than root.
type DirFault struct {
	Dir  string
	Err  error
	Kept bool // there are peers of an earlier reading, which are kept
}

func (e *DirFault) Error() string {
	then := "its peers are left out"
	if e.Kept {
		then = "its peers stay as they were"
	}
	return oneLine(fmt.Sprintf("%s: %v: %s", e.Dir, e.Err, then))
}

func (e *DirFault) Unwrap() error { return e.Err }

// peerOf returns the peer of a file if this peer has no conflict with the peers in `seen`.
func (d *DropIns) peerOf(seen *census, dir *peerDir, f place, before map[string]readOne) (Peer, error) {
	now := time.Now()
	old, kept := before[f.file]
	if kept && (f.known || f.info != nil && old.unchanged(f.info)) && seen.fits(&old.peer) {
		d.read[f.file] = old
		seen.add(&old.peer)
		return old.peer, nil
	}
	p, at, err := d.readFile(dir, f)
	if err == nil {
		err = seen.admit(&p, at)
	}
	// The results for links and for peers with a secret are not stored, because a link's target or
	// a key file can change while the drop-in file does not.
	if err == nil && f.info != nil && f.info.Mode().IsRegular() && p.PresharedKey.IsZero() {
		d.read[f.file] = readOne{f.info, now, p}
	}
	return p, err
}

// errGone means that a file was removed or renamed while the directory was read. A removed file
// is not a fault.
var errGone = errors.New("the file is gone")

// SamePeer reports whether two peers have the same configuration.
func SamePeer(a, b *Peer) bool {
	if alike(a, b) {
		return true
	}
	if a.Guest != b.Guest {
		return false
	}
	c := &Config{}
	return slices.Equal(sectionOf("peer").values(c, a), sectionOf("peer").values(c, b))
}

// alike quickly compares all fields of two peers. If it returns false, the peers may still have the
// same configuration.
func alike(a, b *Peer) bool {
	return a.Name == b.Name && a.PublicKey == b.PublicKey && a.PresharedKey.Equal(b.PresharedKey) &&
		slices.Equal(a.Endpoints, b.Endpoints) && slices.Equal(a.AllowedIPs, b.AllowedIPs) &&
		a.Policy == b.Policy && a.PersistentKeepalive == b.PersistentKeepalive && a.Expires.Equal(b.Expires) && a.Guest == b.Guest
}

// readFile reads the single peer of a file; `at` is the peer's section. If it returns an error, p
// only shows whether the file belongs to another user. If readFile cannot open a file in another
// user's directory, it attributes the fault to that user.
func (d *DropIns) readFile(dir *peerDir, f place) (p Peer, at section, err error) {
	file, guest := f.file, !dir.trusted || dir.guests(f)
	wrong := func(err error) error { return &Error{File: file, Msg: err.Error(), cause: err} }
	data, info, err := dir.read(f.name)
	if errors.Is(err, fs.ErrNotExist) && (f.info == nil || f.info.Mode().IsRegular()) {
		return Peer{}, at, errGone
	}
	if err != nil {
		return Peer{Guest: guest}, at, wrong(err)
	}
	uid, ok := ownerOf(info)
	guest = !ok || !self(uid)
	if f.ofRoot() && !ofRoot(info) { // otherwise the file would have precedence as one of root's
		return Peer{Guest: guest}, at, wrong(errors.New("another user's file has replaced root's file"))
	}
	root, err := decode(file, data)
	if err != nil {
		return Peer{Guest: guest}, at, err
	}
	root.doc.dir = filepath.Dir(file)
	root.doc.guest = !dir.trusts(info)
	root.checkKeys()
	for _, s := range schema {
		if root.has(s.name) && s.name != "peer" {
			root.fail(s.name, "is not allowed in a drop-in file, which has one [[peer]]")
		}
	}
	sections := root.sections("peer", 1)
	if len(sections) == 1 {
		at = sections[0]
		p = readPeer(at, d.policy)
		if p.PublicKey.IsZero() {
			at.fail("public_key", "is missing")
		}
		if mode := info.Mode().Perm(); at.has("preshared_key") && mode&otherBits != 0 && !(mode&otherBits&^platformBits == 0 && platforms(f.file, info)) {
			at.fail("preshared_key", "others may read this file (mode %04o); run: chmod 600 %s", mode, file)
		}
	} else if root.doc.first() == nil {
		return Peer{Guest: guest}, at, wrong(errors.New("has no [[peer]]"))
	}
	p.File, p.Guest, p.lines = file, guest, linesOf(at)
	return p, at, root.doc.first()
}
