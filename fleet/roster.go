package fleet

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"
)

// MaxMembers bounds the members that a host keeps; the daemon accepts as many peers.
const MaxMembers = 4096

// Linger is how long a member stays after its record was removed or spoilt. Within this time
// the member's host restores the record, and no peer notices. Linger admits nobody: a member
// that the policy does not admit is removed at once.
const Linger = time.Second

// errFull means that there is no room for another member.
var errFull = fmt.Errorf("there are %d members already", MaxMembers)

// Entry is the value that the discovery has for a name.
type Entry struct {
	Name  string
	Value []byte // borrowed until the call returns
	// Born orders entries by their arrival at the discovery, such as etcd's create revision.
	Born uint64
}

// Change is a file to write or to remove.
type Change struct {
	Name string
	File []byte // nil: remove it
}

// member is an entry that the policy admits.
type member struct {
	rec   *Record
	right right
	born  uint64
	// waits means that an older member has a key or prefix that this one claims.
	waits bool
	// absent is the time since which the discovery has not had the record, as far as is known.
	absent bool
	since  time.Time
	seen   uint64 // the listing that had it last
	// inner has a bit for each endpoint that leads into the tunnel and is therefore left out.
	inner uint16
}

const _ = uint16(1) << (MaxEndpoints - 1) // there is a bit for each

// Roster is the state machine of a host: it turns records into files. It must not be used
// concurrently.
type Roster struct {
	policy Policy
	own    Key
	grace  time.Duration

	members map[string]*member
	waiting map[string]*member // the waiting ones of members
	held    claims             // of the others
	dirty   map[string]bool    // names of files that may have to change
	listing uint64             // counts them

	// down means that the discovery cannot be reached, so no member is known to have left.
	down bool
	// calm is the time before which no member counts as absent. Other members must also
	// reconnect to the discovery before they can renew their records.
	calm time.Time

	now     time.Time // of the last call that had one
	told    telling
	refused uint64
}

// NewRoster returns a Roster that has no discovery yet. This host's public key is own; a zero
// key means that the host is no member. Missing members stay for the time grace after the
// discovery can be reached again.
func NewRoster(p Policy, own Key, grace time.Duration) *Roster {
	return &Roster{
		policy: p, own: own, grace: grace, down: true,
		members: map[string]*member{}, waiting: map[string]*member{}, dirty: map[string]bool{},
	}
}

// Restore adds an entry from a file that an earlier process has written. It is not known
// whether such a member has left.
func (r *Roster) Restore(e Entry, now time.Time) {
	r.Put(e, now)
	if m := r.members[e.Name]; m != nil {
		m.absent, m.since = true, now
	} else {
		r.dirty[e.Name] = true // the file goes
	}
}

// Lost reports that the discovery cannot be reached. From now on all members stay.
func (r *Roster) Lost() { r.down = true }

// Found reports that the discovery can be reached again.
func (r *Roster) Found(now time.Time) {
	if r.down {
		r.down, r.calm = false, now.Add(r.grace)
	}
}

// List begins a listing of all entries: call Put for each entry, then Listed.
func (r *Roster) List() { r.listing++ }

// Listed ends a listing. A member that was not in the listing has left.
func (r *Roster) Listed(now time.Time) {
	for _, m := range r.members {
		if !m.absent && m.seen != r.listing {
			m.absent, m.since = true, now
		}
	}
	r.Advance(now)
}

// Put handles a present, new or changed record. A refused record counts as missing, as if the
// member had left.
func (r *Roster) Put(e Entry, now time.Time) {
	old := r.members[e.Name]
	rec, err := read(e)
	if err == nil && old != nil && old.born == e.Born && old.rec.same(rec) {
		old.absent, old.seen = false, r.listing // it was judged before
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

// read parses an entry. The record must have the entry's name.
func read(e Entry) (*Record, error) {
	rec, err := ParseRecord(e.Value)
	if err == nil && rec.Name != e.Name {
		err = fmt.Errorf("it names itself %q", rec.Name)
	}
	return rec, err
}

// Delete reports that the discovery no longer has a name.
func (r *Roster) Delete(name string, now time.Time) {
	r.told.forget(name)
	if m := r.members[name]; m != nil && !m.absent {
		m.absent, m.since = true, now
	}
}

// SetPolicy judges all members again by a new policy. Records that were refused before are not
// stored; the next listing contains them again.
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

// leaves returns the time at which an absent member is removed.
func (r *Roster) leaves(m *member) time.Time {
	at := m.since.Add(Linger)
	if at.Before(r.calm) {
		return r.calm
	}
	return at
}

// Deadline returns the time of the next call of Advance; zero means never.
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

// wait marks m as not admitted.
func (r *Roster) wait(m *member) {
	m.waits = true
	r.waiting[m.rec.Name] = m
	r.dirty[m.rec.Name] = true
}

// drop removes a member. The caller must call settle afterwards.
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

// settle admits the waiting members in the order of age, unless an older member conflicts. A
// younger member with a conflict is displaced, and waits.
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

// room returns the younger members that must wait for m, or false if m itself must wait.
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

// Changes returns the files that may have to change since the last call, by name. This host's
// own record causes no file.
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

// leaveOutInner finds the endpoints within another member's prefixes. Packets to such an
// endpoint enter the tunnel to that member, whose own packets may in turn be sent through the
// first member. This host's own prefixes do not lead into the tunnel.
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

// Standing is this host's judgement of a member.
type Standing struct {
	Name    string
	Record  *Record // nil: refused, and not kept
	Refused string  // why it is no peer; "": it is one
}

// Standings lists all members by name, including the refused ones that are still remembered.
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

// Refused is how many records the policy has refused so far.
func (r *Roster) Refused() uint64 { return r.refused }

// Admitted is how many members are peers. It includes this host if it is a member.
func (r *Roster) Admitted() int { return len(r.held.keys) }

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
