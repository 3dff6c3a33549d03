package control

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/overlay/control/rundir"
)

// A member of the socket's group may read the status, and choose path policies. Only root may
// redirect or end the host's traffic, undo root's settings, or see secrets.
func TestWhoMayChange(t *testing.T) {
	dir := runDir(t)
	h := newRecorder()
	start(t, "srd0", h)
	const nobody, group = 65534, 12345
	must(t, os.Chown(filepath.Join(dir, "srd0.sock"), 0, group))
	set := func(save bool, keys ...string) Change {
		c := Change{How: HowSet, Save: save}
		for _, k := range keys {
			c.Settings = append(c.Settings, Setting{k, "x"})
		}
		return c
	}
	try := func(c Change) error {
		d, err := Dial(rundir.Place{Device: "srd0"})
		if err != nil {
			return err
		}
		defer d.Close()
		_, err = d.Change(c)
		return err
	}
	for _, tt := range []struct {
		name  string
		c     Change
		group bool
	}{
		{"policies", set(false, "paths.policy", "peer.a.policy"), true},
		{"reload", Change{How: HowReload}, false},
		{"an endpoint", set(false, "paths.policy", "peer.a.endpoints"), false},
		{"a policy in the file", set(true, "paths.policy"), false},
		{"another file", Change{How: HowReload, Config: "x"}, false},
		{"syncconf", Change{How: HowSync, Config: "x"}, false},
		{"addconf", Change{How: HowAdd, Config: "x"}, false},
		{"what is not known", Change{How: "other"}, false},
	} {
		as(nobody, nobody, []uint32{group}, func() {
			if err := try(tt.c); (err == nil) != tt.group || err != nil && !errors.Is(err, ErrPermission) {
				t.Errorf("%s as a member of the group: %v", tt.name, err)
			}
		})
		if err := try(tt.c); err != nil {
			t.Errorf("%s as root: %v", tt.name, err)
		}
	}
	for name, ask := range map[string]func(*Client) error{
		"down":       func(c *Client) error { _, err := c.Down(t.Context()); return err },
		"restarting": (*Client).Restarting,
	} {
		as(nobody, nobody, []uint32{group}, func() {
			c, err := Dial(rundir.Place{Device: "srd0"})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			if err := ask(c); !errors.Is(err, ErrPermission) {
				t.Errorf("%s as a member of the group: %v", name, err)
			}
		})
	}
	as(nobody, nobody, []uint32{group}, func() {
		c, err := Dial(rundir.Place{Device: "srd0"})
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		if text, err := c.Config(); !errors.Is(err, ErrPermission) || text != "" {
			t.Errorf("the configuration as a member of the group: %q, %v", text, err)
		}
		if _, err := c.Change(set(false, strings.Repeat("x", maxRequest)+".policy")); err == nil || errors.Is(err, ErrPermission) {
			t.Errorf("more than a member of the group may send: %v", err)
		}
	})
}
