package fleet

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const testGrace = 8 * time.Second

// script has a roster, and the files that the roster has requested.
type script struct {
	t     testing.TB
	r     *Roster
	now   time.Time
	files map[string]string
}

func newScript(t testing.TB, p Policy) *script {
	s := &script{t: t, r: NewRoster(p, Key{}, testGrace), now: t0, files: map[string]string{}}
	s.r.Found(t0)
	s.after(testGrace)
	return s
}

func (s *script) after(d time.Duration) {
	s.now = s.now.Add(d)
	s.r.Advance(s.now)
	s.take()
}

func (s *script) take() {
	for _, c := range s.r.Changes() {
		if c.File == nil {
			delete(s.files, c.Name)
		} else {
			s.files[c.Name] = string(c.File)
		}
	}
}

func (s *script) put(r *Record, born uint64) {
	s.r.Put(Entry{Name: r.Name, Value: r.Format(), Born: born}, s.now)
	s.take()
}

// gone removes a name, and waits until the member has left. Members that waited because of it are
// then admitted.
func (s *script) gone(name string) {
	s.r.Delete(name, s.now)
	s.after(Linger)
}

// If a record is removed or damaged and restored in time, its member remains a peer.
func TestRecordIsPutBack(t *testing.T) {
	s := newScript(t, prod())
	a := granted(t, "a", keyOf(1), 0, "10.80.0.1/32")
	s.put(a, 1)
	for i, spoil := range []func(){
		func() { s.r.Delete("a", s.now) },
		func() { s.r.Put(Entry{Name: "a", Value: []byte("nonsense"), Born: 1}, s.now) },
	} {
		spoil()
		s.after(Linger - 1)
		s.want("a")
		s.put(a, uint64(i+2))
		s.after(Linger)
		s.want("a")
	}
	s.r.Put(Entry{Name: "a", Value: []byte("nonsense"), Born: 1}, s.now)
	s.after(Linger)
	s.want()
}

func (s *script) want(names ...string) {
	s.t.Helper()
	if got := slices.Sorted(maps.Keys(s.files)); !slices.Equal(got, names) {
		s.t.Errorf("peers %q, want %q; said: %q", got, names, s.r.Notices())
	}
}

func (s *script) wantNotice(parts ...string) {
	s.t.Helper()
	said := strings.Join(s.r.Notices(), "\n")
	for _, p := range parts {
		if !strings.Contains(said, p) {
			s.t.Errorf("said %q, want %q in it", said, p)
		}
	}
}

func TestMembersComeAndGo(t *testing.T) {
	s := newScript(t, prod())
	a, b := granted(t, "a", keyOf(1), 0, "10.80.0.1/32"), granted(t, "b", keyOf(2), 0, "10.80.0.2/32")
	s.put(a, 1)
	s.put(b, 2)
	s.want("a", "b")
	a.Endpoints = endpoint("192.0.2.9:1000")
	s.put(a, 1)
	if !strings.Contains(s.files["a"], "\nendpoints = [\"192.0.2.9:1000\"]\n") {
		t.Errorf("the endpoint is not taken over:\n%s", s.files["a"])
	}
	s.gone("a")
	s.want("b")
}

// TestStolenPassword imitates an attacker who can write to the store. The attacker has a valid
// grant, but not the fleet's key.
func TestStolenPassword(t *testing.T) {
	s := newScript(t, prod())
	victim, thief := granted(t, "victim", keyOf(1), time.Hour, "10.80.0.1/32"), granted(t, "thief", keyOf(2), time.Hour, "10.80.0.2/32")
	s.put(victim, 10)
	s.put(thief, 11)
	s.want("thief", "victim")
	before := maps.Clone(s.files)
	for _, c := range []struct {
		what  string
		forge func() *Record
		said  string
	}{
		{"a key of nobody's", func() *Record { return &Record{Name: "new", PublicKey: keyOf(9), AllowedIPs: prefixes("10.80.0.9/32")} }, "neither the allow list"},
		{"another's grant", func() *Record {
			return &Record{Name: "new", PublicKey: keyOf(9), AllowedIPs: victim.AllowedIPs, Grant: victim.Grant}
		}, "another member's"},
		{"a grant of his own making", func() *Record {
			g := *victim.Grant
			g.Name, g.PublicKey = "new", keyOf(9)
			return g.Claimed(nil)
		}, "not signed"},
		{"more than he was given", func() *Record {
			r := *thief
			r.AllowedIPs = prefixes("10.80.0.1/32")
			return &r
		}, "no right"},
		{"all", func() *Record {
			r := *thief
			r.AllowedIPs, r.Endpoints = prefixes("0.0.0.0/0"), nil
			return &r
		}, "no right"},
		{"an older right", func() *Record {
			g := *thief.Grant
			g.Issued = t0.Add(-time.Hour)
			return g.Claimed(nil)
		}, "not signed"},
	} {
		r := c.forge()
		s.put(r, 1)
		if got := s.files[r.Name]; got != before[r.Name] {
			t.Errorf("%s is let in:\n%s", c.what, got)
		}
		s.wantNotice(c.said)
		if _, in := s.files["victim"]; !in {
			t.Errorf("%s took the victim away", c.what)
		}
	}
	s.after(Linger)
	s.want("victim")
}

// By the operator's mistake, two members have grants for overlapping prefixes. The member with the
// later grant deletes the record of the other one, so that its own record is the older one in the
// store. The member with the older grant gets its prefix back as soon as its record is restored.
func TestOlderRightIsNotForged(t *testing.T) {
	s := newScript(t, prod())
	older, later := granted(t, "older", keyOf(1), 0, "10.80.0.0/24"), granted(t, "later", keyOf(2), time.Hour, "10.80.0.7/32")
	s.put(older, 10)
	s.put(later, 11)
	s.want("older")
	s.wantNotice("later is refused: older claims 10.80.0.0/24, and its right is older")
	s.gone("older")
	s.want("later")
	s.put(older, 12)
	s.want("older")
	s.wantNotice("later is refused")
	s.gone("older")
	s.gone("later")
	s.put(later, 13)
	s.put(older, 14)
	s.want("older")
}

func TestOneKeyTwoNames(t *testing.T) {
	s := newScript(t, prod())
	s.put(granted(t, "b", keyOf(1), 0, "10.80.0.1/32"), 1)
	s.put(granted(t, "a", keyOf(1), time.Hour, "10.80.0.2/32"), 2)
	s.want("b")
	s.wantNotice("a is refused: b claims its key")
}

// While the store is unreachable, no member is removed. Afterwards members remain for the time that
// others need to reconnect. A member whose record is then still missing is removed.
func TestOutage(t *testing.T) {
	s := newScript(t, prod())
	a, b := granted(t, "a", keyOf(1), 0, "10.80.0.1/32"), granted(t, "b", keyOf(2), 0, "10.80.0.2/32")
	s.put(a, 1)
	s.put(b, 2)
	s.r.Lost()
	s.gone("a") // a delayed event from before the outage
	s.after(time.Hour)
	s.want("a", "b")
	s.r.Found(s.now)
	s.r.List()
	s.put(b, 2)
	s.r.Listed(s.now)
	s.take()
	s.after(testGrace - time.Millisecond)
	s.want("a", "b")
	if got := s.r.Deadline(); !got.Equal(s.now.Add(time.Millisecond)) {
		t.Errorf("deadline %v", got)
	}
	s.after(time.Millisecond)
	s.want("b")
	s.r.Lost()
	s.r.Found(s.now)
	s.r.Delete("b", s.now)
	s.after(testGrace - 1)
	s.put(b, 7) // the record is restored in time
	s.after(testGrace)
	s.want("b")
}

// The files of an earlier process remain until the store shows that a member has left. Members that
// the policy no longer admits are removed.
func TestRestart(t *testing.T) {
	s := newScript(t, prod())
	for i, name := range []string{"a", "b", "c"} {
		s.put(granted(t, name, keyOf(i+1), 0, fmt.Sprintf("10.80.0.%d/32", i)), uint64(i))
	}
	p := prod()
	var err error
	if p.Deny, err = ParseDenyList([]byte(keyOf(2).String())); err != nil {
		t.Fatal(err)
	}
	after := &script{t: t, r: NewRoster(p, Key{}, testGrace), now: t0, files: maps.Clone(s.files)}
	for name, file := range s.files {
		e, err := ParseFile(name, []byte(file))
		must(t, err)
		after.r.Restore(e, t0)
	}
	after.take()
	after.after(24 * time.Hour)
	after.want("a", "c")
	after.r.Found(after.now)
	after.r.List()
	after.put(granted(t, "a", keyOf(1), 0, "10.80.0.0/32"), 0)
	after.r.Listed(after.now)
	after.after(testGrace)
	after.want("a")
}

func TestPolicyChanges(t *testing.T) {
	list := func(text string) Policy {
		l, err := ParseAllowList([]byte(text))
		must(t, err)
		return Policy{Allow: l}
	}
	line := func(name string, n int, p string) string { return fmt.Sprintf("%s %s %s\n", name, keyOf(n), p) }
	s := newScript(t, list(line("a", 1, "10.80.0.1/32")+line("b", 2, "10.80.0.2/32")))
	for i, name := range []string{"a", "b"} {
		p := fmt.Sprintf("10.80.0.%d/32", i+1)
		s.put(&Record{Name: name, PublicKey: keyOf(i + 1), AllowedIPs: prefixes(p)}, 1)
	}
	s.want("a", "b")
	s.r.SetPolicy(list(line("b", 2, "10.80.0.2/32")), s.now)
	s.take()
	s.want("b")
	s.wantNotice("a is refused: neither the allow list")
	s.r.SetPolicy(Policy{}, s.now)
	s.take()
	s.want()
}

func TestGrantExpires(t *testing.T) {
	s := newScript(t, prod())
	g := granted(t, "a", keyOf(1), 0, "10.80.0.1/32").Grant
	g.Expires = s.now.Add(time.Minute)
	must(t, g.Sign(fleetKey))
	s.put(g.Claimed(nil), 1)
	s.want("a")
	if !strings.Contains(s.files["a"], `expires = "`+stamp(g.Expires)+`"`) {
		t.Errorf("the file does not end with the grant: %s", s.files["a"])
	}
	if !s.r.Deadline().Equal(g.Expires) {
		t.Errorf("deadline %v", s.r.Deadline())
	}
	s.r.Lost()
	s.after(time.Minute) // even if the store is unreachable
	s.want()
	s.wantNotice("expired")
}

// While the clock was far ahead, grants expired. After it is set back, the next listing restores
// the members.
func TestClockAheadForAWhile(t *testing.T) {
	s := newScript(t, prod())
	g := granted(t, "a", keyOf(1), 0, "10.80.0.1/32").Grant
	g.Expires = s.now.Add(24 * time.Hour)
	must(t, g.Sign(fleetKey))
	s.put(g.Claimed(nil), 1)
	s.want("a")
	s.after(10 * 365 * 24 * time.Hour)
	s.want()
	s.put(g.Claimed(nil), 1) // the clock is still ahead
	s.want()
	s.after(-10 * 365 * 24 * time.Hour)
	s.put(g.Claimed(nil), 1)
	s.want("a")
}

func TestOwnRecordIsNoPeer(t *testing.T) {
	s := &script{t: t, r: NewRoster(prod(), keyOf(1), testGrace), now: t0, files: map[string]string{}}
	s.put(granted(t, "me", keyOf(1), time.Hour, "10.80.0.1/32"), 1)
	s.want()
	s.put(granted(t, "other", keyOf(2), 0, "10.80.0.0/24"), 1)
	s.wantNotice("me is refused: other claims 10.80.0.0/24", "this is the record of this host")
}

// Repeated invalid records fill neither the log nor the memory. All of them are counted.
func TestRefusalsAreRationed(t *testing.T) {
	s := newScript(t, prod())
	const n = 3 * maxSaid
	for i := range n {
		s.r.Put(Entry{Name: fmt.Sprint(i) + strings.Repeat("x", i%500), Value: []byte(fmt.Sprint(i))}, s.now)
	}
	if got := s.r.Notices(); len(got) != noticeBurst {
		t.Errorf("%d lines", len(got))
	}
	if len(s.r.told.said) > maxSaid || len(s.r.members) != 0 || s.r.Refused() != n {
		t.Errorf("%d remembered, %d kept, %d counted", len(s.r.told.said), len(s.r.members), s.r.Refused())
	}
	s.now = s.now.Add(noticeEvery)
	s.r.Put(Entry{Name: "last"}, s.now)
	s.wantNotice("last is refused", fmt.Sprintf("%d refusals that were not logged", n-noticeBurst))
}

// twin is a slow model of the Roster's admission. It begins with no admitted member, and admits
// members in the order of age, unless they overlap an admitted one.
func twin(members map[string]*member) (names []string) {
	var in []*member
next:
	for _, m := range slices.SortedFunc(maps.Values(members), (*member).older) {
		for _, o := range in {
			if o.rec.PublicKey == m.rec.PublicKey {
				continue next
			}
			for _, p := range o.rec.AllowedIPs {
				if slices.ContainsFunc(m.rec.AllowedIPs, p.Overlaps) {
					continue next
				}
			}
		}
		in = append(in, m)
		names = append(names, m.rec.Name)
	}
	slices.Sort(names)
	return names
}

// TestRosterIsItsTwin adds and removes members in random order, with few different keys, prefixes
// and ages. The grants are not signed, because the test is only about precedence.
func TestRosterIsItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := NewRoster(Policy{}, Key{}, 0)
		r.Found(t0)
		nets := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) netip.Prefix {
			a := netip.AddrFrom4([4]byte{10, 0, 0, byte(rapid.IntRange(0, 15).Draw(t, "host"))})
			return netip.PrefixFrom(a, rapid.IntRange(27, 32).Draw(t, "bits")).Masked()
		}), 0, 3, rapid.ID)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			name := fmt.Sprint("m", rapid.IntRange(0, 7).Draw(t, "name"))
			if rapid.IntRange(0, 3).Draw(t, "leaves") == 0 {
				r.Delete(name, t0)
				r.Advance(t0.Add(Linger))
			} else {
				var list []string
				for _, n := range nets.Draw(t, "prefixes") {
					list = append(list, n.String())
				}
				v, err := parsePrefixes(list)
				if err != nil {
					continue
				}
				r.drop(name)
				m := &member{
					rec:   &Record{Name: name, PublicKey: keyOf(rapid.IntRange(1, 6).Draw(t, "key")), AllowedIPs: v},
					right: right{listed: rapid.Bool().Draw(t, "listed"), order: rapid.Int64Range(0, 3).Draw(t, "order")},
					born:  rapid.Uint64Range(0, 3).Draw(t, "born"),
				}
				r.members[name] = m
				r.wait(m)
				r.settle(t0)
			}
			var got []string
			for _, name := range sorted(r.members) {
				if !r.members[name].waits {
					got = append(got, name)
				}
			}
			if want := twin(r.members); !slices.Equal(got, want) {
				t.Fatalf("admitted %q, the twin %q", got, want)
			}
			if len(r.held.keys) != len(got) || !slices.IsSortedFunc(r.held.ranges, func(a, b claim) int { return comparePrefixes(a.prefix, b.prefix) }) {
				t.Fatalf("claims %+v of %q", r.held, got)
			}
		}
	})
}

// BenchmarkChange measures a change of the endpoint of one member among a thousand.
func BenchmarkChange(b *testing.B) {
	s := newScript(b, prod())
	var all []*Record
	for i := range 1000 {
		all = append(all, granted(b, fmt.Sprint("m", i), keyOf(i+1), time.Duration(i)*time.Second, fmt.Sprintf("10.80.%d.%d/32", i/256, i%256)))
		s.put(all[i], uint64(i))
	}
	n := 0
	for b.Loop() {
		n++
		r := all[n%1000]
		r.Endpoints = endpoint(fmt.Sprintf("192.0.2.1:%d", n%60000+1))
		s.put(r, uint64(n%1000))
	}
}

// An endpoint within another member's prefix is left out. On the host that has this prefix, it is
// kept.
func TestEndpointInsideAnothersPrefix(t *testing.T) {
	inside, outside := netip.MustParseAddrPort("192.168.5.7:51820"), netip.MustParseAddrPort("192.0.2.7:51820")
	a := granted(t, "a", keyOf(1), 0, "10.80.0.1/32").Grant
	site := granted(t, "site", keyOf(2), 0, "10.80.0.2/32", "192.168.5.0/24")
	for _, first := range []bool{true, false} {
		s := newScript(t, prod())
		put := []func(){func() { s.put(a.Claimed([]netip.AddrPort{inside, outside}), 1) }, func() { s.put(site, 2) }}
		if !first {
			slices.Reverse(put)
		}
		put[0]()
		put[1]()
		s.want("a", "site")
		if f := s.files["a"]; !strings.Contains(f, `endpoints = ["192.0.2.7:51820"]`) {
			t.Errorf("with the site: %s", f)
		}
		s.wantNotice("a: its endpoint 192.168.5.7:51820 is left out: site has it among its allowed IPs")
		s.r.Delete("site", s.now)
		s.after(Linger)
		if f := s.files["a"]; !strings.Contains(f, `endpoints = ["192.168.5.7:51820", "192.0.2.7:51820"]`) {
			t.Errorf("without it: %s", f)
		}
	}
	own := &script{t: t, r: NewRoster(prod(), keyOf(2), testGrace), now: t0, files: map[string]string{}}
	own.put(site, 1)
	own.put(a.Claimed([]netip.AddrPort{inside}), 2)
	if f := own.files["a"]; !strings.Contains(f, `endpoints = ["192.168.5.7:51820"]`) {
		t.Errorf("on the site itself: %s", f)
	}
}
