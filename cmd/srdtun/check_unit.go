package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/keytext"
)

// serviceUnit is the systemd service that would run a configuration, with the service's view of
// the host.
type serviceUnit struct {
	name, user   string
	uid          int // -1: systemd creates the user at the start
	groups       []int
	capabilities string
	credentials  credentials
	hidden       []hiding
	shown        []string // directories within hidden ones that BindPaths= makes visible again
	runtime      []string // directories of its own below /run, which systemd creates at the start
	writable     []string // directories that ProtectSystem=strict leaves writable; nil: all
	path         []string // directories searched for programs
}

// unitProperties are the unit properties (systemctl(1)) that limit the unit's view of the
// host.
const unitProperties = "LoadState,User,DynamicUser,AmbientCapabilities,Environment," +
	"RuntimeDirectory,ProtectSystem,ReadWritePaths,ProtectHome,PrivateTmp,InaccessiblePaths,TemporaryFileSystem,BindPaths,BindReadOnlyPaths"

// unitOf returns the service of a file in the configuration directory. The result is nil unless
// the caller is root, and the installed service runs as another user.
func unitOf(file string) *serviceUnit {
	if os.Geteuid() != 0 || filepath.Clean(filepath.Dir(file)) != filepath.Clean(configDir()) {
		return nil
	}
	u := &serviceUnit{name: "srdtun@" + strings.TrimSuffix(filepath.Base(file), suffix) + ".service"}
	shown := map[string]string{}
	for line := range strings.Lines(systemctl("show", "--property="+unitProperties, u.name)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		shown[key] = value
	}
	if shown["LoadState"] != "loaded" || shown["User"] == "" && shown["DynamicUser"] != "yes" || shown["User"] == "root" {
		return nil
	}
	u.capabilities, u.uid = shown["AmbientCapabilities"], -1
	u.credentials = credentialsOf(systemctl("cat", u.name), u.instance())
	u.hidden, u.shown, u.path = hidings(shown), mounts(shown["BindPaths"]+" "+shown["BindReadOnlyPaths"]), searchPath(shown["Environment"])
	for _, dir := range strings.Fields(cmp.Or(shown["RuntimeDirectory"], "srdtun/"+u.instance())) {
		u.runtime = append(u.runtime, filepath.Join("/run", dir))
	}
	if shown["ProtectSystem"] == "strict" {
		u.writable = append(mounts(shown["ReadWritePaths"]+" "+shown["BindPaths"]), u.runtime...)
	}
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

// systemctl returns the output of systemctl(1), or "" if the program fails, for instance without
// systemd.
func systemctl(args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), toolTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, "systemctl", args...).Output()
	if err != nil {
		return ""
	}
	return string(out)
}

// unprivileged is the first port that needs no privilege on a host with default settings (ip(7),
// net.ipv4.ip_unprivileged_port_start).
const unprivileged = 1024

// userName matches the name of a user that systemd can make (sysusers.d(5)).
var userName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,30}$`)

// doubts lists the parts of the configuration that the service will be unable to use.
func (u *serviceUnit) doubts(c *config.Config) (all []error) {
	if u == nil {
		return nil
	}
	if u.user != "" && !userName.MatchString(u.user) {
		all = append(all, fmt.Errorf("%s: %s cannot run as %q, which is not a name of a user: after systemctl daemon-reload, srdtun-generator gives it another", c.File, u.name, u.user))
	}
	for _, k := range c.KeyFiles() {
		base := filepath.Base(k.Path)
		switch {
		case k.Relative && !u.credentials.have(base):
			all = append(all, c.DoubtFile(k, "systemd does not pass this key file to %s: put the key in the configuration, or add to the unit (systemctl edit %s): LoadCredential=%s:%s",
				u.name, u.name, base, k.Path))
		case !k.Relative && u.barred(k.Path) != "":
			all = append(all, c.DoubtFile(k, "the user of %s cannot read this key file (%s): put the key in the configuration, or name the key file without a directory and add LoadCredential=%s:%s to the unit",
				u.name, u.barred(k.Path), base, k.Path))
		}
	}
	if c.PeersDir != "" {
		if at := u.barred(c.PeersDir); at != "" {
			all = append(all, c.Doubt("peers", "dir", "the user of %s cannot read this directory (%s): use /etc/srdtun-peers with mode 0755", u.name, at))
		} else if why := u.barredDropIns(c.PeersDir); len(why) > 0 {
			all = append(all, c.Doubt("peers", "dir", "the user of %s cannot read files of this directory, which it leaves out: %s", u.name, strings.Join(why[:min(len(why), fewNamed)], ", ")))
		}
	}
	all = append(all, u.doubtHooks(c)...)
	for _, l := range []struct{ table, file string }{{"metrics", c.Metrics.Listen.Unix}, {"dashboard", c.Dashboard.Listen.Unix}} {
		if why := u.noSocketIn(filepath.Dir(l.file)); l.file != "" && why != "" {
			all = append(all, c.Doubt(l.table, "listen", "%s cannot offer this socket to other processes (%s): put it into %s", u.name, why, u.runtime[0]))
		}
	}
	for _, l := range []struct {
		table, key string
		port       uint16
	}{
		{"interface", "listen_port", c.Interface.ListenPort},
		{"paths", "port_range", c.Paths.PortRange[0]},
		{"metrics", "listen", c.Metrics.Listen.TCP.Port()},
		{"dashboard", "listen", c.Dashboard.Listen.TCP.Port()},
	} {
		if l.port != 0 && l.port < unprivileged && !strings.Contains(u.capabilities, "cap_net_bind_service") {
			all = append(all, c.Doubt(l.table, l.key,
				"%s may not bind port %d: systemctl edit %s, with AmbientCapabilities=CAP_NET_BIND_SERVICE and CapabilityBoundingSet=CAP_NET_BIND_SERVICE below [Service]", u.name, l.port, u.name))
		}
	}
	return all
}

// barredDropIns returns the reasons why the unit's user cannot read drop-in files.
func (u *serviceUnit) barredDropIns(dir string) (all []string) {
	entries, _ := os.ReadDir(dir) // the check of the drop-in files has read it
	for _, e := range entries {
		if config.IsDropIn(e.Name()) {
			if why := u.barred(filepath.Join(dir, e.Name())); why != "" {
				all = append(all, why)
			}
		}
	}
	return all
}

// instance returns the part of a unit's name that replaces %i.
func (u *serviceUnit) instance() string {
	_, name, _ := strings.Cut(strings.TrimSuffix(u.name, ".service"), "@")
	return name
}

// doubtHooks checks the programs and files that hook commands name. Hook commands may contain
// secrets, so doubtHooks mentions only directories and programs.
func (u *serviceUnit) doubtHooks(c *config.Config) (all []error) {
	hooks := c.Interface.Hooks
	for _, h := range []struct {
		key      string
		commands [][]string
	}{{"pre_up", hooks.PreUp}, {"post_up", hooks.PostUp}, {"pre_down", hooks.PreDown}, {"post_down", hooks.PostDown}} {
		told := map[string]bool{}
		for _, argv := range h.commands {
			words := c.Command(argv)
			why := u.lacks(words[0])
			if why == "" {
				why = u.bars(words)
			}
			if why != "" && !told[why] {
				told[why] = true
				all = append(all, c.Doubt("interface", h.key, "%s", why))
			}
		}
	}
	return all
}

// lacks returns a description if a program exists on this host but not in the unit's search path,
// and "" otherwise. The daemon's own warnings cover programs that are missing on the whole host.
func (u *serviceUnit) lacks(program string) string {
	if strings.Contains(program, "/") {
		return ""
	}
	at, err := exec.LookPath(program)
	if err != nil {
		return ""
	}
	for _, dir := range u.path {
		if info, err := os.Stat(filepath.Join(dir, program)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return ""
		}
	}
	return fmt.Sprintf("%s does not find %s, which is in %s: name it with its directory", u.name, keytext.Quote(program), filepath.Dir(at))
}

// pathIn matches absolute paths in a word, also within an option or a shell command.
var pathIn = regexp.MustCompile(`(?:^|[\s=:'"(<>;|&])(/[^\s'"()<>;|&=:]+)`)

// bars returns the reason why the unit's user cannot access a file that is named in a command, or
// "" if the user can. It does not report a missing file.
func (u *serviceUnit) bars(words []string) string {
	for _, word := range words {
		for _, m := range pathIn.FindAllStringSubmatch(word, -1) {
			if at := u.barred(m[1]); at != "" && !strings.HasPrefix(at, m[1]+" ") {
				return fmt.Sprintf("names a file that the user of %s cannot access (%s)", u.name, at)
			}
		}
	}
	return ""
}
