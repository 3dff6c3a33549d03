package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Doubts returns an error for each setting that is valid but looks like a mistake, with its file,
// line and key. It returns at most mostDoubts errors of each kind. The argument `now` is the
// current time, and `own` has the host's addresses.
func (c *Config) Doubts(now time.Time, own []netip.Addr) []error {
	d := &doubter{c: c, now: now, own: own, told: map[doubtKind]int{}}
	d.prefixes = prefixOwners(c)
	const open = "others may read it (mode bits %04o): accepted, since the platform has set its mode; every user in this container can read the key"
	if c.wide != 0 {
		d.all = append(d.all, &Error{File: c.File, Msg: fmt.Sprintf(open, c.wide)})
	}
	for _, k := range c.keyFiles {
		if k.wide != 0 {
			d.all = append(d.all, c.DoubtFile(k, open, k.wide))
		}
		if k.writer != nil {
			d.all = append(d.all, c.DoubtFile(k, "%s", k.writer.Text(k.Path, "could read or replace the key", inRootDir)))
		}
	}
	d.all = append(d.all, c.writable...)
	if len(c.Interface.Address) == 0 {
		d.all = append(d.all, c.fault("interface", "address", "is missing: this host has no address in the tunnel, so its own programs cannot use it"))
	}
	for i := range c.Peers {
		d.peer(i)
	}
	return d.all
}

// mostDoubts bounds the number of errors of one kind, because a thousand peers may share one
// mistake.
const mostDoubts = 8

// People use the halves or quarters of the address space instead of a default route. Such prefixes
// have a length of at most widestBlock. Each of them also contains addresses that no peer can have,
// so these are not reported.
const widestBlock = 2

// doubtKind is a key, with separate kinds for root's peers and for guest peers. So doubts about
// guest peers cannot displace a doubt about root's peers.
type doubtKind struct {
	key   string
	guest bool
}

// peerLines has the line numbers in a drop-in file that doubts may name. readFile stores them when
// it reads the file, because the file's owner can later replace the file by a link to another one.
type peerLines struct{ allowedIPs, endpoints, expires int32 }

func linesOf(s section) peerLines {
	line := func(key string) int32 { return int32(s.doc.lines.line(s.off(key))) }
	if s.doc == nil {
		return peerLines{}
	}
	return peerLines{line("allowed_ips"), line("endpoints"), line("expires")}
}

// of returns the line of a key, or 0 if the line is unknown.
func (l peerLines) of(key string) int {
	switch key {
	case "allowed_ips":
		return int(l.allowedIPs)
	case "endpoints":
		return int(l.endpoints)
	case "expires":
		return int(l.expires)
	}
	return 0
}

// doubter examines a configuration for Doubts, and reads the file again for line numbers.
type doubter struct {
	c        *Config
	now      time.Time
	own      []netip.Addr
	prefixes map[netip.Prefix]int // allowed IPs and the indices of their peers
	text     *doubted             // text of the configuration itself, once it was read
	told     map[doubtKind]int
	seen     map[string]int // number of peers of each file so far
	all      []error
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
		d.doubt(p, at, "expires", "expired at %s: it is not a peer any more", p.Expires.Format(time.RFC3339))
		return
	}
	if len(p.AllowedIPs) == 0 {
		d.doubt(p, at, "allowed_ips", "there are none: no packet is sent to this peer, and none from it is accepted")
	}
	for _, a := range p.AllowedIPs {
		if what := unusable(a); what != "" && a.Bits() > widestBlock && !p.Guest {
			d.doubt(p, at, "allowed_ips", "%s contains %s, which no peer can have: packets to them do not enter the tunnel, or this host cannot reach its own addresses; want the networks behind the peer", a, what)
		}
		for _, own := range d.c.Interface.Address {
			// A peer may have the whole prefix of the tunnel's network, for instance because it
			// forwards packets to the other hosts.
			if a.Contains(own.Addr()) && (a.IsSingleIP() || a.Bits() > own.Bits()) {
				d.doubt(p, at, "allowed_ips", "%s has this end's own address, %s: packets to it stay here; each end needs an address of its own", a, own.Addr())
			}
		}
	}
	d.outer(p, at)
}

// outer finds endpoints to which packets would be routed into the tunnel. For default routes, the
// daemon's policy rules prevent such a loop. If a mark or a table is configured, the user's own
// rules may prevent a loop.
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
				d.doubt(p, at, "endpoints", "%s is in %s, which goes through the tunnel to %s: nothing passes, unless this host has a narrower route to it; leave the address out of allowed_ips there",
					e.Host, prefix, d.c.Peers[owner].Title())
				break
			}
		}
	}
}

// subnet returns the network of an interface address that contains an endpoint. The kernel routes
// the networks of the interface's addresses through the tunnel's device.
func (d *doubter) subnet(endpoint netip.Addr) (netip.Prefix, bool) {
	for _, own := range d.c.Interface.Address {
		if own.Contains(endpoint) {
			return own.Masked(), true
		}
	}
	return netip.Prefix{}, false
}

// doubt records a doubt about a key of a peer. The argument `at` is the peer's index in its file.
func (d *doubter) doubt(p *Peer, at int, key, format string, args ...any) {
	kind := doubtKind{key, p.Guest}
	if d.told[kind]++; d.told[kind] > mostDoubts {
		return
	}
	e := &Error{File: cmp.Or(p.File, d.c.File), Key: "peer." + key, Msg: fmt.Sprintf(format, args...), Peer: p.Title()}
	if p.File != "" {
		e.Line = p.lines.of(key)
	} else {
		e.Line = d.file(cmp.Or(d.c.copy, d.c.File)).line(func(root *mark) *mark { return root.key("peer").item(at).key(key) })
	}
	if p.Guest {
		d.all = append(d.all, &guestFault{e})
		return
	}
	d.all = append(d.all, e)
}

// file reads a configuration file for its line numbers. If the file is unreadable, Doubts omits
// the line numbers.
func (d *doubter) file(name string) *doubted {
	if d.text == nil {
		d.text = readAgain(name)
	}
	return d.text
}

// Doubt returns an error with the line of a key in a section such as "interface".
func (c *Config) Doubt(table, key, format string, args ...any) error {
	return c.fault(table, key, format, args...)
}

// KeyFiles returns the files from which the configuration took its keys.
func (c *Config) KeyFiles() []KeyFile { return c.keyFiles }

// DoubtFile returns an error about a key file.
func (c *Config) DoubtFile(k KeyFile, format string, args ...any) error {
	return &Error{File: c.File, Line: k.Line, Key: k.Key, Msg: fmt.Sprintf(format, args...)}
}
