package daemon

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// second is a second address of lo, besides 127.0.0.1.
const second = "192.0.2.1"

// liveRow tests that a change of one key takes effect on a running daemon.
type liveRow struct {
	given []string // settings to make before the change, KEY=VALUE
	value string
	look  func(t *testing.T, s *server) string // returns the part that the key changes
	want  string                               // result of look after the change
}

const bothLocals = "paths.local=127.0.0.1," + second

var liveRows = map[string]liveRow{
	"interface.address": {nil, "10.80.0.1/24, fd80::1/64, 10.89.0.1/32", func(t *testing.T, _ *server) string {
		link, err := net.InterfaceByName("srdd0")
		must(t, err)
		addrs, err := link.Addrs()
		return fmt.Sprint(addrs, err)
	}, "[10.80.0.1/24 10.89.0.1/32 fd80::1/64] <nil>"},
	"paths.local":                    {nil, second, lookPaths, second + " -> 127.0.0.1:5999"},
	"paths.policy":                   {nil, "conga", lookPolicies, "*steer.Conga *steer.Conga *steer.Conga"},
	"paths.flowlet_timeout":          {[]string{"paths.policy=letflow"}, "3ms", lookSteering("table", "timeout"), "3000000"},
	"paths.weights":                  {[]string{bothLocals, "paths.policy=wcmp"}, "3,1", lookShares, "3 : 1"},
	"paths.primary":                  {[]string{bothLocals, "paths.policy=active-backup"}, second, lookSteering("primary"), "1"},
	"paths.flowcell":                 {[]string{"paths.policy=presto"}, "9000", lookSteering("cell"), "9000"},
	"paths.dre_alpha":                {[]string{"paths.policy=conga"}, "0.5", lookSteering("shape", "alpha"), "0.5"},
	"paths.dre_period":               {[]string{"paths.policy=conga"}, "1ms", lookSteering("shape", "period"), "1000000"},
	"paths.link_mbit":                {[]string{"paths.policy=conga"}, "80", lookSteering("fixed"), "1600"},
	"peer.near.name":                 {nil, "close", func(t *testing.T, _ *server) string { return shown(t).Peers[0].Name }, "close"},
	"peer.near.public_key":           {nil, "", func(t *testing.T, _ *server) string { return fmt.Sprint(shown(t).Peers[0].PublicKey, " ", callable(t)) }, ""},
	"peer.near.preshared_key":        {nil, "", func(t *testing.T, s *server) string { return lookConn(s, "env", "cfg", "PSK") }, ""},
	"peer.near.endpoints":            {nil, "127.0.0.1:5990", lookPaths, "127.0.0.1 -> 127.0.0.1:5990"},
	"peer.near.allowed_ips":          {nil, "10.80.0.2/32, 10.85.0.0/16", lookRoutes, "10.85.0.1"},
	"peer.near.policy":               {nil, "ecmp", lookPolicies, "*steer.ECMP *steer.Spray *steer.Spray"},
	"peer.near.persistent_keepalive": {nil, "25", func(t *testing.T, s *server) string { return lookConn(s, "env", "cfg", "Keepalive") }, "25000000000"},
	"peer.near.expires":              {nil, "2020-01-01T00:00:00Z", func(t *testing.T, _ *server) string { return fmt.Sprint(names(shown(t))) }, "[named guest]"},
	"peers.allow":                    {nil, "10.8.0.0/16", func(t *testing.T, _ *server) string { return fmt.Sprint(names(shown(t))) }, "[near named]"},
}

// guestUser owns a directory of drop-in files in these tests.
const guestUser = 65534

// guests makes a directory of guestUser with the file "guest.toml". It returns the directory, and
// the section of the configuration that names it.
func guests(t *testing.T, peer string) (dir, section string) {
	t.Helper()
	dir = t.TempDir()
	putGuest(t, dir, "guest.toml", peer)
	must(t, os.Chown(dir, guestUser, guestUser))
	return dir, fmt.Sprintf("[peers]\ndir = %q\nowner = %d\n", dir, guestUser)
}

// putGuest writes a drop-in file that belongs to guestUser.
func putGuest(t *testing.T, dir, name, peer string) {
	t.Helper()
	file := filepath.Join(dir, "."+name)
	must(t, os.WriteFile(file, []byte(peer), 0o644))
	must(t, os.Chown(file, guestUser, guestUser))
	must(t, os.Rename(file, filepath.Join(dir, name)))
}

// Each key that is documented as live takes effect on a running daemon, and so does its
// reversal. A key without a row fails.
func TestEveryLiveKeyCounts(t *testing.T) {
	ip(t, "addr", "add", second+"/32", "dev", "lo")
	t.Cleanup(func() { ip(t, "addr", "del", second+"/32", "dev", "lo") })
	runDir(t)
	_, section := guests(t, "[[peer]]\nname = \"guest\"\npublic_key = \""+key(t, 7)+"\"\nallowed_ips = \"10.9.0.7/32\"\n")
	a, b := up(t, parse(t, "[paths]\n", section+"[paths]\n")), up(t, other(t))
	keys := map[string]bool{}
	for _, key := range config.LiveKeys() {
		if name, ok := strings.CutPrefix(key, "peer."); ok {
			key = "peer.near." + name
		}
		keys[key] = true
		row, ok := liveRows[key]
		if !ok {
			t.Errorf("%s: no row says what it does", key)
			continue
		}
		t.Run(key, func(t *testing.T) { row.play(t, a.server, key) })
	}
	for key := range liveRows {
		if !keys[key] {
			t.Errorf("%s is no key, or not live", key)
		}
	}
	for _, r := range []*running{a, b} {
		r.cancel()
		r.wait()
	}
}

// Each weight stays with its entry of paths.local, even if the order of the entries changes.
func TestWeightsFollowTheirEntries(t *testing.T) {
	ip(t, "addr", "add", second+"/32", "dev", "lo")
	t.Cleanup(func() { ip(t, "addr", "del", second+"/32", "dev", "lo") })
	runDir(t)
	a, b := up(t, parse(t, "[paths]\n", "[paths]\nlocal = [\"127.0.0.1\", \""+second+"\"]\nweights = [3, 1]\npolicy = \"wcmp\"\n")), up(t, other(t))
	for _, c := range [][3]string{
		{"paths.local", "127.0.0.1, " + second, "3 : 1"}, {"paths.local", second + ", 127.0.0.1", "1 : 3"},
		{"paths.weights", "1, 3", "3 : 1"}, {"paths.local", "127.0.0.1, " + second, "1 : 3"},
	} {
		change(t, c[0], c[1])
		until(t, c[0]+" = "+c[1]+": "+c[2], func() bool { return lookShares(t, a.server) == c[2] })
	}
	for _, r := range []*running{a, b} {
		r.cancel()
		r.wait()
	}
}

// play sets the key, checks its effect, and restores the old value.
func (row liveRow) play(t *testing.T, s *server, name string) {
	switch name {
	case "peer.near.public_key":
		row.value, row.want = key(t, 9), key(t, 9)+" false"
	case "peer.near.preshared_key":
		row.value = key(t, 9)
		k, err := config.ParsePeers("", []byte("[[peer]]\npublic_key='"+key(t, 8)+"'\npreshared_key='"+row.value+"'\n"))
		must(t, err)
		row.want = fmt.Sprint(k[0].PresharedKey.Bytes())
	}
	for _, g := range row.given {
		key, value, _ := strings.Cut(g, "=")
		change(t, key, value)
	}
	before := row.look(t, s)
	if before == row.want {
		t.Fatalf("it is %q before it is set", before)
	}
	change(t, name, row.value)
	seen := ""
	until(t, row.want, func() bool { seen = row.look(t, s); return seen == row.want || t.Failed() })
	// The test may have changed the peer's name, which is part of the key.
	if st := shown(t); !slices.ContainsFunc(st.Unsaved, func(k string) bool {
		return k == name || strings.HasPrefix(k, "peer.") && strings.HasPrefix(name, "peer.")
	}) {
		t.Errorf("%s is not among what differs from the file: %q", name, st.Unsaved)
	}
	accepted(t, control.Change{How: control.HowReload, Config: string(config.Format(parse(t)))})
	for _, g := range row.given {
		key, value, _ := strings.Cut(g, "=")
		change(t, key, value)
	}
	until(t, before+" once more", func() bool { return row.look(t, s) == before })
	accepted(t, control.Change{How: control.HowReload, Config: string(config.Format(parse(t)))})
}

// change sets a key as "srdtun set" does.
func change(t *testing.T, key, value string) {
	t.Helper()
	if _, err := ask(t, control.Change{How: control.HowSet, Settings: []control.Setting{{Key: key, Value: value}}}); err != nil {
		t.Fatalf("%s=%s: %v", key, value, err)
	}
}

// callable reports whether a session with the peer is possible.
func callable(t *testing.T) bool {
	p, err := dial(t, "srdd0").Ping("near", false)
	return err == nil && slices.ContainsFunc(p.Paths, func(a control.Ping) bool { return a.RTTUs > 0 })
}

// lookPaths returns the tuples on which the connection must open paths.
func lookPaths(_ *testing.T, s *server) string {
	p := s.running.peers()[0]
	var v []string
	p.link.Do(func(mono.Time, *srd.Conn) {
		for _, u := range p.remote.tuples {
			v = append(v, fmt.Sprintf("%v -> %v", u.Local, u.Remote))
		}
	})
	slices.Sort(v)
	return strings.Join(slices.Compact(v), ", ")
}

// lookShares returns the ratio of the mean weight of a path from 127.0.0.1 to that of a path from
// the second address.
func lookShares(t *testing.T, _ *server) string {
	if !callable(t) {
		return "no session"
	}
	var sum, n [2]float64
	for _, p := range shown(t).Peers[0].Paths {
		if p.State != control.PathActive {
			continue
		}
		i := 0
		if strings.HasPrefix(p.Local, second+":") {
			i = 1
		}
		sum[i] += float64(p.Weight)
		n[i]++
	}
	if n[0] == 0 || n[1] == 0 {
		return "one address"
	}
	one, two := sum[0]/n[0], sum[1]/n[1]
	return fmt.Sprintf("%.0f : %.0f", one/min(one, two), two/min(one, two))
}

// lookRoutes returns those of a few addresses that are allowed in both directions.
func lookRoutes(t *testing.T, s *server) string {
	var v []string
	for _, to := range []string{"10.81.0.1", "10.85.0.1", "fd81::1"} {
		if i, ok := s.running.Load().table.Lookup(netip.MustParseAddr(to)); ok && i == 0 && leadsHere(t, to) {
			v = append(v, to)
		}
	}
	return strings.Join(v, " ")
}

// lookPolicies returns the types of the peers' policies.
func lookPolicies(_ *testing.T, s *server) (text string) {
	for _, p := range s.running.peers() {
		p.link.Do(func(_ mono.Time, c *srd.Conn) { text += " " + field(c, "env", "cfg", "Policy").Elem().Type().String() })
	}
	return text[1:]
}

// lookSteering returns the value of a field of the path policy.
func lookSteering(names ...string) func(*testing.T, *server) string {
	return func(_ *testing.T, s *server) string {
		return lookConn(s, append([]string{"env", "cfg", "Policy"}, names...)...)
	}
}

// lookConn returns the value of a field of the connection to the first peer.
func lookConn(s *server, names ...string) (text string) {
	s.running.peers()[0].link.Do(func(_ mono.Time, c *srd.Conn) { text = plain(field(c, names...)) })
	return text
}

// field returns a nested field: each name is a field of the one before.
func field(c *srd.Conn, names ...string) reflect.Value {
	v := reflect.ValueOf(c)
	for _, name := range names {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		v = v.FieldByName(name)
	}
	return v
}

// plain formats a number without the String method of its type.
func plain(v reflect.Value) string {
	switch {
	case v.CanInt():
		return fmt.Sprint(v.Int())
	case v.CanFloat():
		return fmt.Sprintf("%.6g", v.Float())
	}
	return fmt.Sprint(v)
}
