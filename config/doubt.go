package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/srdtun/srdtun/internal/bounded"
)

// Doubts lists settings that look like mistakes but may be intended. Each doubt is one
// line with file, line and key. At most mostDoubts of one kind are listed. The host's clock says
// now, and the host has the addresses own.
func (c *Config) Doubts(now time.Time, own []netip.Addr) []error {
	d := &doubter{c: c, now: now, own: own, marks: map[string]*doubted{}, told: map[doubtKind]int{}}
	d.prefixes = prefixOwners(c)
	const open = "others may read it (mode bits %04o): accepted, since the platform has set its mode; whoever runs in this container can read the key"
	if c.wide != 0 {
		d.all = append(d.all, &Error{File: c.File, Msg: fmt.Sprintf(open, c.wide)})
	}
	for _, k := range c.keyFiles {
		if k.wide != 0 {
			d.all = append(d.all, c.DoubtFile(k, open, k.wide))
		}
	}
	if len(c.Interface.Address) == 0 {
		d.all = append(d.all, c.fault("interface", "address", "is missing: this host has no address in the tunnel, so its own programs cannot use it"))
	}
	for i := range c.Peers {
		d.peer(i)
	}
	return d.all
}

// mostDoubts bounds the lines of one kind, because a file of a thousand peers may have a
// thousand.
const mostDoubts = 8

// doubtKind is a key of root's peers, or of guests. Guests' doubts hide none of root's.
type doubtKind struct {
	key   string
	guest bool
}

// doubter examines a configuration, and reads its files for line numbers.
type doubter struct {
	c        *Config
	now      time.Time
	own      []netip.Addr
	prefixes map[netip.Prefix]int // allowed IPs and the indices of their peers
	marks    map[string]*doubted  // by file
	told     map[doubtKind]int
	seen     map[string]int // peers of a file so far
	all      []error
}

// doubted is the present text of a file.
type doubted struct {
	root  *mark
	lines lineIndex
}

func prefixOwners(c *Config) map[netip.Prefix]int {
	all := make(map[netip.Prefix]int, 2*len(c.Peers))
	for i := range c.Peers {
		for _, a := range c.Peers[i].AllowedIPs {
			all[a] = i
		}
	}
	return all
}

func (d *doubter) peer(i int) {
	p := &d.c.Peers[i]
	if d.seen == nil {
		d.seen = map[string]int{}
	}
	at := d.seen[p.File]
	d.seen[p.File]++
	if p.Expired(d.now) {
		d.doubt(p, at, "expires", "expired at %s: it is no peer any more", p.Expires.Format(time.RFC3339))
		return
	}
	if len(p.AllowedIPs) == 0 {
		d.doubt(p, at, "allowed_ips", "there are none: nothing is sent to this peer, and nothing it sends is taken")
	}
	for _, a := range p.AllowedIPs {
		for _, own := range d.c.Interface.Address {
			// A prefix as wide as the tunnel's network is intended, because that peer
			// forwards packets.
			if a.Contains(own.Addr()) && (a.IsSingleIP() || a.Bits() > own.Bits()) {
				d.doubt(p, at, "allowed_ips", "%s has this end's own address, %s: packets to it stay here; each end needs an address of its own", a, own.Addr())
			}
		}
	}
	d.outer(p, at)
}

// outer finds endpoints that are routed into the tunnel. Default routes have policy rules
// that prevent this. With a mark or a table, the user's own rules may prevent it.
func (d *doubter) outer(p *Peer, at int) {
	i := &d.c.Interface
	for _, e := range p.Endpoints {
		host, ok := e.Addr()
		if !ok {
			continue
		}
		addr := host.Addr()
		elsewhere := addr.IsLoopback() && e.Port != i.ListenPort // another daemon of this host
		if slices.Contains(d.own, addr) && !elsewhere {
			d.doubt(p, at, "endpoints", "%s is an address of this host: want the peer's own address", e.Host)
			continue
		}
		if own, is := d.subnet(addr); is {
			d.doubt(p, at, "endpoints", "%s is in the tunnel's own network, %s: packets to it would enter the tunnel again; want the peer's address outside the tunnel", e.Host, own)
			continue
		}
		if i.Table.Off || i.Table.ID != 0 || i.FwMark != 0 {
			continue
		}
		for bits := addr.BitLen(); bits > 0; bits-- {
			prefix, _ := addr.Prefix(bits)
			if owner, in := d.prefixes[prefix]; in {
				d.doubt(p, at, "endpoints", "%s is in %s, which goes through the tunnel to %s: nothing passes, unless this host has a narrower route to it",
					e.Host, prefix, d.c.Peers[owner].Title())
				break
			}
		}
	}
}

// subnet returns the network of an address of the interface that contains an endpoint. The kernel
// routes such a network through the interface.
func (d *doubter) subnet(endpoint netip.Addr) (netip.Prefix, bool) {
	for _, own := range d.c.Interface.Address {
		if own.Contains(endpoint) {
			return own.Masked(), true
		}
	}
	return netip.Prefix{}, false
}

// doubt records a doubt about a key of a peer. at is the peer's number in its file.
func (d *doubter) doubt(p *Peer, at int, key, format string, args ...any) {
	kind := doubtKind{key, p.Guest}
	if d.told[kind]++; d.told[kind] > mostDoubts {
		return
	}
	e := &Error{File: cmp.Or(p.File, d.c.File), Key: "peer." + key, Msg: fmt.Sprintf(format, args...), Peer: p.Title()}
	if f := d.file(cmp.Or(p.File, d.c.copy, d.c.File)); f != nil {
		e.Line = f.lines.line(f.root.key("peer").item(at).key(key).off)
	}
	if p.Guest {
		d.all = append(d.all, &guestFault{e})
		return
	}
	d.all = append(d.all, e)
}

// file reads a file for its line numbers; it returns nil if the file cannot be read any more.
func (d *doubter) file(name string) *doubted {
	f, ok := d.marks[name]
	if !ok {
		if text, err := bounded.Regular(name, MaxFileBytes); err == nil {
			f = &doubted{locate(string(text)).root, newLineIndex(string(text))}
		}
		d.marks[name] = f
	}
	return f
}

// Doubt records a doubt about a key of a section such as "interface".
func (c *Config) Doubt(table, key, format string, args ...any) error {
	return c.fault(table, key, format, args...)
}

// KeyFiles returns the files with keys that the configuration names.
func (c *Config) KeyFiles() []KeyFile { return c.keyFiles }

// DoubtFile records a doubt about a file with a key.
func (c *Config) DoubtFile(k KeyFile, format string, args ...any) error {
	return &Error{File: c.File, Line: k.Line, Key: k.Key, Msg: fmt.Sprintf(format, args...)}
}
