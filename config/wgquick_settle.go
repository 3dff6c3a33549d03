package config

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// settle checks and completes the sections after the method read() has parsed all lines.
func (im *importer) settle() error {
	if im.iface == nil {
		return im.fail(0, "PrivateKey", "is missing: there is no [Interface]")
	}
	if err := im.settleKey(); err != nil {
		return err
	}
	for _, p := range im.peers {
		if p.field("public_key") == nil {
			return im.fail(p.line, "PublicKey", "is missing in this [Peer]")
		}
	}
	if im.iface.field("listen_port") == nil {
		f := im.iface.add("listen_port", "ListenPort", im.iface.line)
		f.value, f.remark = "0", "any free port, as without ListenPort"
	}
	im.settleAddresses()
	im.namePeers()
	im.mergePeers()
	im.settlePrefixes()
	for _, l := range im.leftOut {
		im.note(l.line, "", "%s: not taken over: %s", strings.Join(l.words, ", "), l.why)
	}
	im.settleHooks()
	return nil
}

// settleKey chooses one of several private keys. A PostUp command that sets the key runs after wg
// has read the file, so the key of that command has precedence.
func (im *importer) settleKey() error {
	file, key := im.iface.field("private_key_file"), im.iface.field("private_key")
	switch {
	case file != nil:
		im.note(file.line, file.word, "the private key is read from the file %s", shownPath(im.keyFile))
		im.iface.drop("private_key")
	case key == nil && im.keyBy != nil:
		return im.fail(im.keyBy.line, im.keyBy.word, `gives the private key by a command, which import does not run; write the key to root's file with mode 0600 and say here: wg set %%i private-key FILE`)
	case key == nil:
		return im.fail(im.iface.line, "PrivateKey", "is missing in [Interface]")
	case im.keyBy != nil:
		im.note(im.keyBy.line, im.keyBy.word, "not taken over: it gives another key by a command, which import does not run; the key of line %d counts", key.line)
	}
	return nil
}

// If an address occurs with several prefix lengths, settleAddresses keeps the shortest, because its
// network contains the others. wg-quick adds an IPv4 address with each of its prefix lengths to the
// device. If any other item occurs twice, wg-quick fails, because the kernel refuses the second
// one.
func (im *importer) settleAddresses() {
	f := im.iface.field("address")
	if f == nil {
		return
	}
	kept := map[netip.Addr]netip.Prefix{}
	for _, i := range f.items {
		p := i.prefix()
		if old, is := kept[p.Addr()]; !is || p.Bits() < old.Bits() {
			kept[p.Addr()] = p
		}
	}
	taken := map[netip.Addr]bool{}
	f.items = slices.DeleteFunc(f.items, func(i wgItem) bool {
		p := i.prefix()
		stays := kept[p.Addr()]
		switch {
		case p == stays && !taken[p.Addr()]:
			taken[p.Addr()] = true
			return false
		case p == stays || p.Addr().Is6():
			im.note(i.line, f.word, "%s is listed twice, which wg-quick refuses; %s is taken over once", p.Addr(), stays)
		default:
			im.note(i.line, f.word, "%s is not taken over beside %s: it is the same address, and adds no route", p, stays)
		}
		return true
	})
}

// prefix parses an item that wgAddresses has already checked.
func (i wgItem) prefix() netip.Prefix {
	text, _ := strconv.Unquote(i.text)
	p, _ := parsePrefix(text)
	return p
}

// mergePeers merges the sections of peers with the same key. As in wg, values of the later
// section win, and its AllowedIPs replace all earlier ones.
func (im *importer) mergePeers() {
	first := map[string]*wgSection{}
	im.peers = slices.DeleteFunc(im.peers, func(p *wgSection) bool {
		key := p.field("public_key").value
		old := first[key]
		if old == nil {
			first[key] = p
			return false
		}
		im.note(p.line, "[Peer]", "has the key of the peer of line %d; the later one counts, as with wg", old.line)
		old.drop("allowed_ips")
		for _, f := range old.fields {
			if p.field(f.key) == nil {
				p.fields = append(p.fields, f)
			}
		}
		old.fields = p.fields
		for _, block := range p.lead {
			old.remarks = append(old.remarks, block...)
		}
		old.remarks = append(old.remarks, p.remarks...)
		return true
	})
}

// settlePrefixes removes a prefix from all peers except the last one that has it, as wg does.
func (im *importer) settlePrefixes() {
	owner := map[string]*wgSection{}
	for _, p := range slices.Backward(im.peers) {
		f := p.field("allowed_ips")
		if f == nil {
			continue
		}
		f.items = slices.DeleteFunc(f.items, func(i wgItem) bool {
			later := owner[i.text]
			if later == nil {
				owner[i.text] = p
				return false
			}
			text, _ := strconv.Unquote(i.text)
			im.note(i.line, "AllowedIPs", "%s goes to the peer of line %d; if two peers have it, the later one counts, as with wg", text, later.line)
			return true
		})
	}
}
