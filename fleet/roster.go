package fleet

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"
)

// MaxMembers bounds the number of members on a host, because the daemon accepts no more peers.
const MaxMembers = 4096

// Linger is how long a member remains a peer after its record was removed or damaged. In this time
// the member's host restores the record, so its peers remain connected. If the policy refuses a
// member, it is removed immediately.
const Linger = time.Second

// errFull means that the roster already has MaxMembers members.
var errFull = fmt.Errorf("there are %d members already", MaxMembers)

// Entry is a name in the store with its value.
type Entry struct {
	Name  string
	Value []byte // borrowed until the call returns
	// Born orders entries by the time of their creation in the store. For instance, it is etcd's
	// create revision.
	Born uint64
}

// Change is a file that the agent must write or remove.
type Change struct {
	Name string
	File []byte // nil: remove the file
}

// member is a stored entry that the policy admits.
type member struct {
	rec   *Record
	right right
	born  uint64
	// waits means that the member is not admitted, because an older member has the same key or an
	// overlapping prefix.
	waits bool
	// absent means that the store is known to lack the record. The field since has the time at
	// which this became known.
	absent bool
	since  time.Time
	seen   uint64 // number of the last listing that contained it
	// inner has a bit for each endpoint that is left out because packets to it would enter the
	// tunnel.
	inner uint16
}

const _ = uint16(1) << (MaxEndpoints - 1) // there is a bit for each endpoint

// Roster is the state machine that converts the fleet's records into drop-in files. A Roster must
// not be used concurrently.
type Roster struct {
	policy Policy
	own    Key
	grace  time.Duration

	members map[string]*member
	waiting map[string]*member // the members that wait for admission
	held    claims             // keys and prefixes of the admitted members
	dirty   map[string]bool    // names of files that may have to change
	listing uint64             // number of the current listing

	// down means that the store is unreachable, so no member is known to have left.
	down bool
	// calm is the time before which no absent member is removed, because other members must also
	// reconnect to the store before they can renew their records.
	calm time.Time

	now     time.Time // time argument of the last call that had one
	told    telling
	refused uint64
}

// NewRoster returns a Roster without any entries. The argument `own` is this host's public key, or
// zero if the host is not a member. After the store is reachable again, members without a record
// remain peers for the time `grace`.
func NewRoster(p Policy, own Key, grace time.Duration) *Roster {
	return &Roster{
		policy: p, own: own, grace: grace, down: true,
		members: map[string]*member{}, waiting: map[string]*member{}, dirty: map[string]bool{},
	}
}

// Restore adds an entry from a file that an earlier process wrote. While the store is unreachable,
// it is unknown whether the member has left, so it remains.
func (r *Roster) Restore(e Entry, now time.Time) {
	r.Put(e, now)
	if m := r.members[e.Name]; m != nil {
		m.absent, m.since = true, now
	} else {
		r.dirty[e.Name] = true // the file is removed
	}
}

// Lost notifies the Roster that the store is unreachable. While the store is unreachable, all
// members remain peers.
func (r *Roster) Lost() { r.down = true }

// Found notifies the Roster that the store is reachable again.
func (r *Roster) Found(now time.Time) {
	if r.down {
		r.down, r.calm = false, now.Add(r.grace)
	}
}

// List begins a listing: the caller then calls Put for each entry, and Listed at the end.
func (r *Roster) List() { r.listing++ }

// Listed ends a listing. A member without an entry in the listing has left the fleet.
func (r *Roster) Listed(now time.Time) {
	for _, m := range r.members {
		if !m.absent && m.seen != r.listing {
			m.absent, m.since = true, now
		}
	}
	r.Advance(now)
}

// Put adds or replaces an entry of the store. A refused record counts as missing, as if its
// member had left.
func (r *Roster) Put(e Entry, now time.Time) {
	old := r.members[e.Name]
	rec, err := read(e)
	if err == nil && old != nil && old.born == e.Born && old.rec.same(rec) {
		old.absent, old.seen = false, r.listing // the same record was judged before
		return
	}
	m := &member{rec: rec, born: e.Born, seen: r.listing}
	if err == nil {
		m.right, err = r.policy.judge(rec, now)
	}
	if err == nil && old == nil && len(r.members) >= MaxMembers {
		err = errFull
	}
	if err != nil {
		r.refused++
		r.Delete(e.Name, now)
		r.told.refuse(e.Name, err, now)
		return
	}
	r.told.forget(e.Name)
	r.drop(e.Name)
	r.members[e.Name] = m
	r.wait(m)
	r.settle(now)
}

// read parses the record of an entry. The name in the record must be the name of the entry.
func read(e Entry) (*Record, error) {
	rec, err := ParseRecord(e.Value)
	if err == nil && rec.Name != e.Name {
		err = fmt.Errorf("it names itself %q", rec.Name)
	}
	return rec, err
}

// Delete notifies the Roster that the store no longer has an entry of this name.
func (r *Roster) Delete(name string, now time.Time) {
	r.told.forget(name)
	if m := r.members[name]; m != nil && !m.absent {
		m.absent, m.since = true, now
	}
}

// SetPolicy replaces the policy, and checks all members against it. The Roster does not store
// refused records, so it can admit them only at the next listing.
func (r *Roster) SetPolicy(p Policy, now time.Time) {
	r.policy, r.held = p, claims{}
	for _, name := range sorted(r.members) {
		m := r.members[name]
		var err error
		if m.right, err = p.judge(m.rec, now); err != nil {
			r.refused++
			delete(r.members, name)
			delete(r.waiting, name)
			r.dirty[name] = true
			r.told.refuse(name, err, now)
			continue
		}
		r.wait(m)
	}
	r.settle(now)
}

// Advance removes members that have left, and members whose right has expired.
func (r *Roster) Advance(now time.Time) {
	for _, name := range sorted(r.members) {
		m := r.members[name]
		switch {
		case m.absent && !r.down && !now.Before(r.leaves(m)):
			r.drop(name)
		case !m.right.expires.IsZero() && !now.Before(m.right.expires):
			r.drop(name)
			r.refused++
			r.told.refuse(name, fmt.Errorf("its grant expired at %s", stamp(m.right.expires)), now)
		}
	}
	r.settle(now)
}

// leaves returns the time at which the Roster removes an absent member.
func (r *Roster) leaves(m *member) time.Time {
	at := m.since.Add(Linger)
	if at.Before(r.calm) {
		return r.calm
	}
	return at
}

// Deadline returns the time at which Advance must be called next, or zero for never.
func (r *Roster) Deadline() (at time.Time) {
	sooner := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	for _, m := range r.members {
		if m.absent && !r.down {
			sooner(r.leaves(m))
		}
		sooner(m.right.expires)
	}
	return at
}

// wait adds m to the members that wait for admission.
func (r *Roster) wait(m *member) {
	m.waits = true
	r.waiting[m.rec.Name] = m
	r.dirty[m.rec.Name] = true
}

// drop removes a member. After drop(), the caller must call settle().
func (r *Roster) drop(name string) {
	m := r.members[name]
	if m == nil {
		return
	}
	if !m.waits {
		r.held.remove(m)
	}
	delete(r.members, name)
	delete(r.waiting, name)
	r.dirty[name] = true
}

// settle admits waiting members in the order of their age, oldest first, unless they conflict with
// an older admitted member. If an admitted member conflicts with an older one, it must wait again.
func (r *Roster) settle(now time.Time) {
	r.now = now
	queue := slices.SortedFunc(maps.Values(r.waiting), (*member).older)
	for len(queue) > 0 {
		m := queue[0]
		queue = queue[1:]
		younger, ok := r.room(m, now)
		if !ok {
			continue
		}
		for _, y := range younger {
			r.held.remove(y)
			r.wait(y)
			at, _ := slices.BinarySearchFunc(queue, y, (*member).older)
			queue = slices.Insert(queue, at, y)
		}
		r.held.add(m)
		m.waits, r.dirty[m.rec.Name] = false, true
		delete(r.waiting, m.rec.Name)
		r.told.forget(m.rec.Name)
	}
}

// room returns the admitted, younger members that must wait so that m can be admitted. If m itself
// must wait, the result `ok` is false.
func (r *Roster) room(m *member, now time.Time) (younger []*member, ok bool) {
	for other, what := range r.held.conflicts(m) {
		if other.older(m) < 0 {
			text := fmt.Sprintf("%s claims %s, and its right is older", other.rec.Name, what)
			if m.rec.PublicKey == r.own {
				text += "; this is the record of this host"
			}
			r.told.refuse(m.rec.Name, errors.New(text), now)
			return nil, false
		}
		if !slices.Contains(younger, other) {
			younger = append(younger, other)
		}
	}
	return younger, true
}

// Changes returns the files that may have changed since the last call, sorted by name. The Roster
// makes no file for this host's own record.
func (r *Roster) Changes() []Change {
	if len(r.dirty) > 0 {
		r.leaveOutInner()
	}
	var v []Change
	for _, name := range sorted(r.dirty) {
		c := Change{Name: name}
		if m := r.members[name]; m != nil && !m.waits && m.rec.PublicKey != r.own {
			c.File = m.file()
		}
		v = append(v, c)
	}
	clear(r.dirty)
	return v
}

// leaveOutInner finds endpoints that are within the prefixes of another member. Packets to such an
// endpoint would enter the tunnel to that member, whose outer packets may in turn enter the tunnel
// to the first. Prefixes of this host are an exception, because the kernel delivers packets to them
// without the tunnel.
func (r *Roster) leaveOutInner() {
	for _, name := range sorted(r.members) {
		m := r.members[name]
		if m.waits {
			continue
		}
		var inner uint16
		for i, e := range m.rec.Endpoints {
			other := r.held.holder(e.Addr())
			if other == nil || other == m || other.rec.PublicKey == r.own {
				continue
			}
			inner |= 1 << i
			if m.inner&(1<<i) == 0 {
				r.told.say(fmt.Sprintf("%s: its endpoint %v is left out: %s has it among its allowed IPs, so the route to it would be the tunnel", name, e, other.rec.Name), r.now)
			}
		}
		if inner != m.inner {
			m.inner, r.dirty[name] = inner, true
		}
	}
}

// outer returns the endpoints that do not lead into the tunnel.
func (m *member) outer() (v []netip.AddrPort) {
	for i, e := range m.rec.Endpoints {
		if m.inner&(1<<i) == 0 {
			v = append(v, e)
		}
	}
	return v
}

// Standing is the state of a member on this host.
type Standing struct {
	Name    string
	Record  *Record // nil: the record was refused and not stored
	Refused string  // why it is not a peer; "": it is a peer
}

// Standings lists all members by name, including refused ones whose refusal is still stored.
func (r *Roster) Standings() (v []Standing) {
	names := map[string]string{}
	maps.Copy(names, r.told.said)
	for name := range r.members {
		names[name] = r.told.said[name]
	}
	for _, name := range sorted(names) {
		s := Standing{Name: name, Refused: names[name]}
		if m := r.members[name]; m != nil {
			s.Record = m.rec
		}
		v = append(v, s)
	}
	return v
}

// Refused returns the number of records that the policy has refused.
func (r *Roster) Refused() uint64 { return r.refused }

// Admitted returns the number of admitted members. The number includes this host if it is a
// member.
func (r *Roster) Admitted() int { return len(r.held.keys) }

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
