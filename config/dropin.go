package config

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// DropIns reads a directory of drop-in files again and again, and of it only files that have
// changed: a fleet may have thousands. The zero value has read none. It is not for concurrent
// use.
type DropIns struct {
	policy string             // the default that they were read with
	read   map[string]readOne // by file
}

// readOne is a sound file. What it says does not depend on other files.
type readOne struct {
	info fs.FileInfo
	at   time.Time // when it was looked at
	peer Peer
}

// place is a file that is to be read.
type place struct {
	name, file string      // without and with its directory
	info       fs.FileInfo // of the entry itself; nil: it is gone
	known      bool        // not to have changed: info is what it was
}

// refused is a file that is left out.
type refused struct {
	name string
	err  error
}

// racy is how long after its last change a file may change again without another time stamp:
// a tick of the kernel's clock, of a hundredth of a second at most, with much to spare.
const racy = 100 * time.Millisecond

// unchanged reports whether a file is as it was when it was read.
func (r readOne) unchanged(now fs.FileInfo) bool {
	a, ok := r.info.Sys().(*syscall.Stat_t)
	b, ok2 := now.Sys().(*syscall.Stat_t)
	return ok && ok2 && a.Dev == b.Dev && a.Ino == b.Ino && a.Size == b.Size && a.Mode == b.Mode && a.Uid == b.Uid &&
		a.Mtim == b.Mtim && a.Ctim == b.Ctim && r.at.Sub(time.Unix(a.Ctim.Unix())) > racy
}

// WithDropIns is [DropIns.With] for once.
func WithDropIns(c *Config) (with *Config, faults []error, err error) {
	return new(DropIns).With(c, nil)
}

// CheckDropIns is what the daemon of c will make of its drop-in directory, with the first
// fault in it as an error.
func CheckDropIns(c *Config) (with *Config, err error) {
	with, faults, err := WithDropIns(c)
	switch {
	case err != nil:
		if ofKey(err) {
			return nil, err
		}
		return nil, c.fault("peers", "dir", "%v", err)
	case len(faults) > 0:
		return nil, faults[0]
	}
	return with, nil
}

// DropInFault names the key that an error of With is of. What is wrong with the directory is
// no fault of the configuration: it may come later.
func (c *Config) DropInFault(err error) error {
	if ofKey(err) {
		return err
	}
	var e *Error
	if errors.As(err, &e) && errors.Is(e.cause, fs.ErrPermission) {
		return c.Fault("peers", "dir", "%s: %w", e.File, e.cause) // which does not get better
	}
	return c.Fault("peers", "dir", "%v", err)
}

func ofKey(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Key != ""
}

// With returns c with the peers of its drop-in directory in place of those it had.
// A file that is wrong by itself, or contradicts the configuration or a file before it, is
// left out alone; the faults say why, one for each. Files of root's come first, and each
// user's in the order of their names. The error is that the directory cannot be read at all. Files that changed does not name are taken to be
// as they were; nil names all.
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
	dir, err := openPeerDir(c.PeersDir, owner)
	if err != nil {
		return nil, nil, &Error{File: c.PeersDir, Msg: err.Error(), cause: err}
	}
	defer dir.close()
	known := func(file string) fs.FileInfo {
		if old, kept := d.read[file]; kept && changed != nil && !changed(file) {
			return old.info
		}
		return nil
	}
	files, err := dir.list(known)
	if err != nil {
		return nil, nil, &Error{File: c.PeersDir, Msg: err.Error(), cause: err}
	}
	if d.policy != all.Paths.Policy {
		d.policy, d.read = all.Paths.Policy, nil
	}
	seen, before := newCensus(&all), d.read
	seen.grow(len(files))
	d.read = make(map[string]readOne, len(files))
	all.Peers = slices.Grow(all.Peers, len(files))
	var wrong []refused
	for _, f := range files {
		old, kept := before[f.file]
		if f.known && seen.fits(&old.peer) {
			d.read[f.file] = old
			seen.add(&old.peer)
			all.Peers = append(all.Peers, old.peer)
			continue
		}
		p, err := d.one(seen, dir, old, kept, f)
		if err != nil {
			wrong = append(wrong, refused{f.name, err})
			continue
		}
		all.Peers = append(all.Peers, p)
	}
	slices.SortFunc(wrong, func(a, b refused) int { return cmp.Compare(a.name, b.name) })
	for _, r := range wrong {
		faults = append(faults, r.err)
	}
	return &all, faults, nil
}

// one returns the peer of a file, if it goes with those that were seen.
func (d *DropIns) one(seen *census, dir *peerDir, old readOne, kept bool, f place) (Peer, error) {
	now := time.Now()
	if kept && f.info != nil && old.unchanged(f.info) && seen.fits(&old.peer) {
		d.read[f.file] = old
		seen.add(&old.peer)
		return old.peer, nil
	}
	p, at, err := d.readFile(dir, f)
	if err == nil {
		err = seen.admit(&p, at)
	}
	// A link, and a secret that may be in a file of its own, change without the file.
	if err == nil && f.info != nil && f.info.Mode().IsRegular() && p.PresharedKey.IsZero() {
		d.read[f.file] = readOne{f.info, now, p}
	}
	return p, err
}

// SamePeer reports whether two peers are configured alike.
func SamePeer(a, b *Peer) bool {
	if alike(a, b) {
		return true
	}
	c := &Config{}
	return slices.Equal(sectionOf("peer").values(c, a), sectionOf("peer").values(c, b))
}

// alike is a quick look at all that a peer has: peers that are, are the same.
func alike(a, b *Peer) bool {
	return a.Name == b.Name && a.PublicKey == b.PublicKey && a.PresharedKey.Equal(b.PresharedKey) &&
		slices.Equal(a.Endpoints, b.Endpoints) && slices.Equal(a.AllowedIPs, b.AllowedIPs) &&
		a.Policy == b.Policy && a.PersistentKeepalive == b.PersistentKeepalive && a.Expires.Equal(b.Expires)
}

// readFile reads the one peer of a file. at tells where its keys are.
func (d *DropIns) readFile(dir *peerDir, f place) (p Peer, at section, err error) {
	file := f.file
	wrong := func(err error) error { return &Error{File: file, Msg: err.Error(), cause: err} }
	data, info, err := dir.read(f.name)
	if err != nil {
		return Peer{}, at, wrong(err)
	}
	root, err := decode(file, data)
	if err != nil {
		return Peer{}, at, err
	}
	root.doc.dir = filepath.Dir(file)
	root.doc.guest = !dir.trusts(info)
	root.checkKeys()
	for _, s := range schema {
		if root.has(s.name) && s.name != "peer" {
			root.fail(s.name, "has no place in a drop-in file, which has one [[peer]]")
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
		return Peer{}, at, wrong(errors.New("has no [[peer]]"))
	}
	p.File = file
	return p, at, root.doc.first()
}
