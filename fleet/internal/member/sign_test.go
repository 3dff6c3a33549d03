package member

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/agent"
)

const (
	keyA = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE="
	keyB = "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE="
)

// fleetKey generates a key with the command fleetkey, and returns the files of the private and the
// public key.
func fleetKey(t *testing.T, dir string) (private, public string) {
	t.Helper()
	private, public = filepath.Join(dir, "fleet.key"), filepath.Join(dir, "fleet.pub")
	c := fleetKeyCommand()
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(io.Discard)
	c.SetArgs([]string{private})
	must(t, c.Execute())
	must(t, os.WriteFile(public, out.Bytes(), 0o644))
	return private, public
}

func TestSignAndJudge(t *testing.T) {
	dir := t.TempDir()
	private, public := fleetKey(t, dir)
	policy, err := agent.Files{Fleet: "prod", Keys: public}.Load()
	must(t, err)
	now := time.Now()
	s := signing{key: private, fleet: "prod", public: keyA, allowed: []string{"10.80.0.1/32"}, within: []string{"192.0.2.0/24"}, ledger: dir}
	must(t, s.sign("a", now))
	j := Self{Grant: filepath.Join(dir, "a.grant"), Addresses: []string{"192.0.2.1:51820"}}
	r, err := j.Record("a", policy)
	must(t, err)
	if _, err := j.Record("b", policy); err == nil {
		t.Error("a grant serves another name")
	}
	j.Grant = dir
	if _, err := j.Record("a", policy); err != nil {
		t.Errorf("of a directory: %v", err)
	}
	j.Addresses = []string{"198.51.100.1:51820"}
	if _, err := j.Record("a", policy); err == nil || !strings.Contains(err.Error(), "outside") {
		t.Errorf("an endpoint outside: %v", err)
	}

	// If a grant is signed again, it keeps its age.
	must(t, s.sign("a", now.Add(time.Hour)))
	data, err := os.ReadFile(filepath.Join(dir, "a.grant"))
	must(t, err)
	again, err := fleet.ParseGrant(data)
	if err != nil || !again.Issued.Equal(r.Grant.Issued) || !again.Signed.After(r.Grant.Signed) {
		t.Errorf("%+v, %v", again, err)
	}

	for _, c := range []struct {
		name, public, allowed, want string
	}{
		{"b", keyB, "10.80.0.0/24", "belongs to a"},
		{"b", keyA, "10.80.0.2/32", "belongs to a"},
		{"b", "x", "10.80.0.2/32", "not a key"},
		{"b", keyB, "10.80.0.2/24", "host bits"},
		{"../b", keyB, "10.80.0.2/32", "a name has"},
	} {
		s := s
		s.public, s.allowed = c.public, []string{c.allowed}
		if err := s.sign(c.name, now); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*.grant")); len(files) != 1 {
		t.Errorf("files %q", files)
	}
}

func TestFleetKeyIsPrivate(t *testing.T) {
	dir := t.TempDir()
	private, _ := fleetKey(t, dir)
	if info, err := os.Stat(private); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if (&Program{Name: "x", Flags: func(*cobra.Command) {}}).Run([]string{"fleetkey", private}) == 0 {
		t.Error("a key is overwritten")
	}
	must(t, os.Chmod(private, 0o644))
	if _, err := readFleetKey(private); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("%v", err)
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
