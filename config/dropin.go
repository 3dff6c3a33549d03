package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// maxDropIn bounds a drop-in file in bytes: a peer with some two thousand allowed IPs.
const maxDropIn = 64 << 10

// othersWrite are the permissions of group and others to write.
const othersWrite fs.FileMode = 0o022

// DropIns reads a directory of drop-in files again and again, and of it only files that have
// changed: a fleet may have thousands. The zero value has read none. It is not for concurrent
// use.
type DropIns struct {
	owner  int                // the user whose files count, besides root's; 0: that of this process
	policy string             // the default that they were read with
	read   map[string]readOne // by file
}

// readOne is a sound file. What it says does not depend on other files.
type readOne struct {
	info fs.FileInfo
	at   time.Time // when it was looked at
	peer Peer
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
// fault in it as an error. The daemon may have a user of its own, so the owner of the
// directory is taken for it.
func CheckDropIns(c *Config) (with *Config, err error) {
	d := new(DropIns)
	if info, err := os.Stat(c.PeersDir); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			d.owner = int(st.Uid)
		}
	}
	with, faults, err := d.With(c, nil)
	switch {
	case err != nil:
		return nil, c.fault("peers", "dir", "%v", err)
	case len(faults) > 0:
		return nil, faults[0]
	}
	return with, nil
}

// With returns c with the peers of its drop-in directory in place of those it had.
// A file that is wrong by itself, or contradicts the configuration or a file before it in
// the order of names, is left out alone; the faults say why, one for each. The error is
// that the directory cannot be read at all. Files that changed does not name are taken to be
// as they were; nil names all.
func (d *DropIns) With(c *Config, changed func(file string) bool) (with *Config, faults []error, err error) {
	all := *c
	all.Peers = slices.Clone(c.Peers)
	all.Peers = slices.DeleteFunc(all.Peers, func(p Peer) bool { return p.File != "" })
	if c.PeersDir == "" {
		return &all, nil, nil
	}
	files, err := d.list(c.PeersDir)
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
	for _, file := range files {
		old, kept := before[file]
		if kept && changed != nil && !changed(file) && seen.fits(&old.peer) {
			d.read[file] = old
			seen.add(&old.peer)
			all.Peers = append(all.Peers, old.peer)
			continue
		}
		p, err := d.one(seen, old, kept, file)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		all.Peers = append(all.Peers, p)
	}
	return &all, faults, nil
}

// one returns the peer of a file, if it goes with those that were seen.
func (d *DropIns) one(seen *census, old readOne, kept bool, file string) (Peer, error) {
	now := time.Now()
	info, err := os.Lstat(file)
	if err == nil && kept && old.unchanged(info) && seen.fits(&old.peer) {
		d.read[file] = old
		seen.add(&old.peer)
		return old.peer, nil
	}
	p, at, ferr := d.readFile(file)
	if ferr == nil {
		ferr = seen.admit(&p, at)
	}
	// A link, and a secret that may be in a file of its own, change without the file.
	if ferr == nil && err == nil && info.Mode().IsRegular() && p.PresharedKey.IsZero() {
		d.read[file] = readOne{info, now, p}
	}
	return p, ferr
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
		a.Policy == b.Policy && a.PersistentKeepalive == b.PersistentKeepalive
}

// IsDropIn reports whether a file of the directory counts: editors' own files begin with
// a dot, or have another end.
func IsDropIn(name string) bool {
	base := filepath.Base(name)
	return strings.HasSuffix(base, ".toml") && !strings.HasPrefix(base, ".")
}

// list returns the files of the directory, which nobody but root and this process's
// user may write: whoever can put a file there can have packets sent to himself.
func (d *DropIns) list(dir string) ([]string, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, bare(err)
	}
	if !info.IsDir() {
		return nil, errors.New("not a directory")
	}
	if err := d.checkOwned(info); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, bare(err)
	}
	var files []string
	for _, e := range entries {
		if IsDropIn(e.Name()) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) > maxPeers {
		return nil, fmt.Errorf("%d files; at most %d are allowed", len(files), maxPeers)
	}
	return files, nil
}

// checkOwned refuses what somebody else may write.
func (d *DropIns) checkOwned(info fs.FileInfo) error {
	owner := d.owner
	if owner == 0 {
		owner = os.Geteuid()
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return errors.New("its owner is not known")
	case st.Uid != 0 && int(st.Uid) != owner:
		return fmt.Errorf("belongs to user %d; want root or the user of the daemon", st.Uid)
	case info.Mode().Perm()&othersWrite != 0:
		return fmt.Errorf("writable by group or others (mode %04o)", info.Mode().Perm())
	}
	return nil
}

// readFile reads the one peer of a file. at tells where its keys are.
func (d *DropIns) readFile(file string) (p Peer, at section, err error) {
	wrong := func(err error) error { return &Error{File: file, Msg: err.Error(), cause: err} }
	data, mode, err := d.readOwned(file)
	if err != nil {
		return Peer{}, at, wrong(err)
	}
	root, err := decode(file, data)
	if err != nil {
		return Peer{}, at, err
	}
	root.doc.dir = filepath.Dir(file)
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
		if at.has("preshared_key") && mode&otherBits != 0 {
			at.fail("preshared_key", "others may read this file (mode %04o); run: chmod 600 %s", mode, file)
		}
	} else if root.doc.first() == nil {
		return Peer{}, at, wrong(errors.New("has no [[peer]]"))
	}
	p.File = file
	return p, at, root.doc.first()
}

// readOwned reads a regular file that nobody else may write.
func (d *DropIns) readOwned(file string) ([]byte, fs.FileMode, error) {
	// Not to wait for the writer of a named pipe.
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, bare(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, bare(err)
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errors.New("not a regular file")
	}
	if err := d.checkOwned(info); err != nil {
		return nil, 0, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxDropIn+1))
	if err == nil && len(data) > maxDropIn {
		err = fmt.Errorf("the file has more than %d bytes", maxDropIn)
	}
	return data, info.Mode().Perm(), bare(err)
}

// census is what peers have that no other may have.
type census struct {
	c        *Config
	own      Key
	names    map[string]string
	keys     map[Key]string
	prefixes map[netip.Prefix]string
}

func newCensus(c *Config) *census {
	s := &census{c: c, names: map[string]string{}, keys: map[Key]string{}, prefixes: map[netip.Prefix]string{}}
	s.own, _ = c.Interface.PrivateKey.Public() // a configuration has a sound one
	for i := range c.Peers {
		s.add(&c.Peers[i])
	}
	return s
}

// grow makes room for n peers, with two prefixes each as most have.
func (s *census) grow(n int) {
	s.names, s.keys, s.prefixes = grown(s.names, n), grown(s.keys, n), grown(s.prefixes, 2*n)
}

func grown[K comparable](m map[K]string, n int) map[K]string {
	g := make(map[K]string, len(m)+n)
	maps.Copy(g, m)
	return g
}

func (s *census) add(p *Peer) {
	from := p.File
	if from == "" {
		from = s.c.File
	}
	s.names[p.Name], s.keys[p.PublicKey] = from, from
	for _, a := range p.AllowedIPs {
		s.prefixes[a] = from
	}
}

// fits reports what admit would say of a peer that is sound by itself, without a word why
// not.
func (s *census) fits(p *Peer) bool {
	if _, dup := s.names[p.Name]; dup && p.Name != "" {
		return false
	}
	if _, dup := s.keys[p.PublicKey]; dup || p.PublicKey == s.own || !p.PublicKey.usable() {
		return false
	}
	for i, a := range p.AllowedIPs {
		if _, dup := s.prefixes[a]; dup || slices.Contains(p.AllowedIPs[:i], a) {
			return false
		}
	}
	_, loops := loopsBack(&s.c.Interface, p)
	return !loops && len(s.keys) < maxPeers
}

// admit adds a peer that goes with those before it.
func (s *census) admit(p *Peer, at section) error {
	before := func(where string) string { return "in " + where }
	if from, dup := s.names[p.Name]; dup && p.Name != "" {
		at.fail("name", "%s names another peer already, %s", quoted(p.Name), before(from))
	}
	switch from, dup := s.keys[p.PublicKey]; {
	case p.PublicKey == s.own:
		at.fail("public_key", "is this interface's own key")
	case dup:
		at.fail("public_key", "belongs to another peer already, %s", before(from))
	case !p.PublicKey.usable():
		at.fail("public_key", "is no usable key: it gives the same secret to everyone")
	}
	own := map[netip.Prefix]bool{}
	for i, a := range p.AllowedIPs {
		if from, dup := s.prefixes[a]; dup {
			at.failAt(at.itemOff("allowed_ips", i), "allowed_ips", "%s belongs to another peer already, %s", a, before(from))
		} else if own[a] {
			at.failAt(at.itemOff("allowed_ips", i), "allowed_ips", "%s is listed twice", a)
		}
		own[a] = true
	}
	d := draft{cfg: &Config{Interface: s.c.Interface, Peers: []Peer{*p}}, peers: []section{at}}
	d.checkOuterRoutes()
	if len(s.c.Peers)+1 > maxPeers {
		at.failAt(at.at.off, "", "more than %d peers", maxPeers)
	}
	if err := at.doc.first(); err != nil {
		return err
	}
	s.add(p)
	return nil
}
