package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/srdtun/srdtun/config"
)

// serviceUnit is the service that would run a configuration, as far as its eyes are concerned.
type serviceUnit struct {
	name, user   string
	uid          int // -1: one that systemd makes at the start
	groups       []int
	text         string // of its file and drop-ins
	capabilities string
}

// unitOf returns the service of a file of the configuration directory, if it is installed and
// runs as another user than this process, which is root; nil: there is none.
func unitOf(file string) *serviceUnit {
	if os.Geteuid() != 0 || filepath.Clean(filepath.Dir(file)) != filepath.Clean(configDir()) {
		return nil
	}
	u := &serviceUnit{name: "srdtun@" + strings.TrimSuffix(filepath.Base(file), suffix) + ".service"}
	shown := map[string]string{}
	for line := range strings.Lines(systemctl("show", "--property=LoadState,User,DynamicUser,AmbientCapabilities", u.name)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		shown[key] = value
	}
	if shown["LoadState"] != "loaded" || shown["User"] == "" && shown["DynamicUser"] != "yes" || shown["User"] == "root" {
		return nil
	}
	u.text, u.capabilities, u.uid = systemctl("cat", u.name), shown["AmbientCapabilities"], -1
	if shown["DynamicUser"] == "yes" {
		u.user = shown["User"]
	}
	if who, err := user.Lookup(shown["User"]); err == nil && shown["DynamicUser"] != "yes" {
		u.uid, _ = strconv.Atoi(who.Uid)
		ids, _ := who.GroupIds()
		for _, id := range ids {
			n, _ := strconv.Atoi(id)
			u.groups = append(u.groups, n)
		}
	}
	return u
}

// systemctl returns what it prints; "" where it does not work, as without systemd.
func systemctl(args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), toolTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, "systemctl", args...).Output()
	if err != nil {
		return ""
	}
	return string(out)
}

// unprivileged is where ports begin that need no right, unless the host says otherwise
// (ip(7), net.ipv4.ip_unprivileged_port_start).
const unprivileged = 1024

// userName is what systemd takes for the name of a user that it makes (sysusers.d(5)).
var userName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,30}$`)

// doubts are what the service will not be able to do.
func (u *serviceUnit) doubts(c *config.Config) (all []error) {
	if u == nil {
		return nil
	}
	if u.user != "" && !userName.MatchString(u.user) {
		all = append(all, fmt.Errorf("%s: %s cannot run as %q, which is no name of a user: systemctl daemon-reload has srdtun-generator give it another", c.File, u.name, u.user))
	}
	for _, k := range c.KeyFiles() {
		base := filepath.Base(k.Path)
		switch {
		case k.Relative && !u.hands(base):
			all = append(all, c.DoubtFile(k, "systemd does not hand it to %s: put the key in the file itself, or add to the unit (systemctl edit %s): LoadCredential=%s:%s",
				u.name, u.name, base, k.Path))
		case !k.Relative && u.barred(k.Path) != "":
			all = append(all, c.DoubtFile(k, "the user of %s cannot read it (%s): put the key in the file itself, or name it without a directory and have LoadCredential=%s:%s in the unit",
				u.name, u.barred(k.Path), base, k.Path))
		}
	}
	if c.PeersDir != "" {
		if at := u.barred(c.PeersDir); at != "" {
			all = append(all, c.Doubt("peers", "dir", "the user of %s cannot read it (%s): put it in /etc/srdtun-peers, mode 0755", u.name, at))
		}
	}
	hooks := c.Interface.Hooks
	for _, h := range []struct {
		key      string
		commands [][]string
	}{{"pre_up", hooks.PreUp}, {"post_up", hooks.PostUp}, {"pre_down", hooks.PreDown}, {"post_down", hooks.PostDown}} {
		if dir := u.bars(h.commands); dir != "" {
			all = append(all, c.Doubt("interface", h.key, "names a file that the user of %s cannot get at (%s)", u.name, dir))
		}
	}
	if p := c.Interface.ListenPort; p != 0 && p < unprivileged && !strings.Contains(u.capabilities, "cap_net_bind_service") {
		all = append(all, c.Doubt("interface", "listen_port",
			"%s may not bind port %d: systemctl edit %s, with AmbientCapabilities=CAP_NET_BIND_SERVICE and CapabilityBoundingSet=CAP_NET_BIND_SERVICE below [Service]", u.name, p, u.name))
	}
	return all
}

// bars returns the directory that keeps the unit's user from a file that a command names; "":
// none does. The word itself may be a secret.
func (u *serviceUnit) bars(commands [][]string) string {
	for _, argv := range commands {
		for _, word := range argv {
			if !filepath.IsAbs(word) {
				continue
			}
			if at := u.barred(word); at != "" && !strings.HasPrefix(at, word+" ") {
				return at
			}
		}
	}
	return ""
}

// hands reports whether systemd hands a file over under a name.
func (u *serviceUnit) hands(base string) bool {
	for line := range strings.Lines(u.text) {
		value, ok := strings.CutPrefix(strings.TrimSpace(line), "LoadCredential=")
		if id, _, _ := strings.Cut(value, ":"); ok && id == base {
			return true
		}
	}
	return false
}

// barred returns the first part of a path that keeps the unit's user out, with its mode; "":
// none does. A path that is not there keeps nobody out.
func (u *serviceUnit) barred(path string) string {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	at := "/"
	for _, part := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		if !u.may(at, 1) {
			return describeMode(at)
		}
		at = filepath.Join(at, part)
	}
	need := uint32(4)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		need = 5
	}
	if !u.may(path, need) {
		return describeMode(path)
	}
	return ""
}

// may reports whether the unit's user has the permissions of a file, as the bits of others.
func (u *serviceUnit) may(path string, need uint32) bool {
	info, err := os.Stat(path)
	if err != nil {
		return true
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	mode := st.Mode
	if int(st.Uid) == u.uid {
		mode >>= 6
	} else {
		for _, g := range u.groups {
			if int(st.Gid) == g {
				mode >>= 3
				break
			}
		}
	}
	return mode&need == need
}

func describeMode(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return path
	}
	return fmt.Sprintf("%s has mode %04o", path, info.Mode().Perm())
}
