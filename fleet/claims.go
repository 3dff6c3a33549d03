package fleet

import (
	"net/netip"
	"slices"
	"sort"
)

// claims holds the keys and prefixes of the members that the roster has admitted. No two admitted
// members have the same key or overlapping prefixes. The zero value of claims is empty.
type claims struct {
	// The field ranges is sorted by address. No two prefixes overlap, so they have the same order
	// by their first and by their last addresses.
	ranges []claim
	keys   map[Key]*member
}

// claim is a prefix and the member to which it belongs.
type claim struct {
	prefix netip.Prefix
	m      *member
}

// first returns the index of the first claim that does not end before p.
func (c *claims) first(p netip.Prefix) int {
	return sort.Search(len(c.ranges), func(i int) bool {
		q := c.ranges[i].prefix
		return q.Overlaps(p) || q.Addr().Compare(p.Addr()) >= 0
	})
}

// conflict returns an admitted member with which m shares its key or overlaps in a prefix, and a
// description of the conflict.
func (c *claims) conflict(m *member) (other *member, what string) {
	for other, what := range c.conflicts(m) {
		return other, what
	}
	return nil, ""
}

// conflicts iterates over all admitted members with which m shares its key or overlaps in a prefix.
// The iterator may return a member several times.
func (c *claims) conflicts(m *member) func(func(*member, string) bool) {
	return func(yield func(*member, string) bool) {
		if other := c.keys[m.rec.PublicKey]; other != nil && !yield(other, "its key") {
			return
		}
		for _, p := range m.rec.AllowedIPs {
			for i := c.first(p); i < len(c.ranges) && c.ranges[i].prefix.Overlaps(p); i++ {
				if !yield(c.ranges[i].m, c.ranges[i].prefix.String()) {
					return
				}
			}
		}
	}
}

// holder returns the admitted member whose prefixes contain an address, or nil.
func (c *claims) holder(a netip.Addr) *member {
	p := netip.PrefixFrom(a, a.BitLen())
	if i := c.first(p); i < len(c.ranges) && c.ranges[i].prefix.Contains(a) {
		return c.ranges[i].m
	}
	return nil
}

// add records the key and prefixes of m, which must not conflict with another member.
func (c *claims) add(m *member) {
	if c.keys == nil {
		c.keys = map[Key]*member{}
	}
	c.keys[m.rec.PublicKey] = m
	for _, p := range m.rec.AllowedIPs {
		c.ranges = slices.Insert(c.ranges, c.first(p), claim{p, m})
	}
}

// remove deletes the key and prefixes of m.
func (c *claims) remove(m *member) {
	if c.keys[m.rec.PublicKey] == m {
		delete(c.keys, m.rec.PublicKey)
	}
	for _, p := range m.rec.AllowedIPs {
		if i := c.first(p); i < len(c.ranges) && c.ranges[i].m == m && c.ranges[i].prefix == p {
			c.ranges = slices.Delete(c.ranges, i, i+1)
		}
	}
}
