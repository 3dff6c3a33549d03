package main

import (
	"fmt"
	"io"
	"slices"
)

// place is the environment in which checks run.
type place int

const (
	here    place = iota // in the source tree
	bare                 // in a copy of the root, without systemd
	booted               // in a copy of the root that systemd has booted
	managed              // like booted, but udev runs and the network managers can be started
)

// check is a test with a line in the report.
type check struct {
	name, says string
	needs      []string // other checks of the group, which must precede this check
	host       func(*host) error
	here       func(*workshop) (note string, err error)
}

// group is a series of checks that run in one place. Each check continues from the state that the
// previous check left.
type group struct {
	kind     string
	place    place
	packages bool
	checks   []check
}

var groups = []group{
	{kind: "source", place: here, checks: []check{
		{name: "make-install", says: "make install, make uninstall", here: (*workshop).installsAndUninstalls},
		{name: "go-install", says: "go install, with the version of the module", here: (*workshop).goInstalls},
		{name: "static", says: "static binaries for each processor", here: (*workshop).statics},
		{name: "reproducible", says: "two builds in different folders give the same bytes", here: (*workshop).reproduces},
	}},
	{kind: "deb", place: bare, packages: true, checks: []check{
		{name: "bare", says: "without systemd the deb installs, runs, is upgraded, and a purge leaves nothing", host: (*host).withoutSystemd},
	}},
	{kind: "deb", place: booted, packages: true, checks: []check{
		{name: "install", says: "the deb installs program, unit, pages, completions and user", host: (*host).installs},
		{name: "misspelt", needs: []string{"install"}, says: "a misspelt name fails once, and the message names the file", host: (*host).misspelt},
		{name: "wrong", needs: []string{"install"}, says: "a wrong file fails once, and the message names its line", host: (*host).wrong},
		{name: "start", needs: []string{"install"}, says: "the unit starts, with one capability and behind its filters", host: (*host).starts},
		{name: "one-key", needs: []string{"install"}, says: "of two services with one private key and one peer, the second starts when the first has stopped", host: (*host).oneKey},
		{name: "recipes", needs: []string{"install"}, says: "the guide's recipes run as a service, and what cannot is told before", host: (*host).recipes},
		{name: "group", needs: []string{"start"}, says: "members of the group may ask, others are told who may", host: (*host).group},
		{name: "apart", needs: []string{"start"}, says: "another service's user, an agent's and strangers get nothing from this one", host: (*host).apart},
		{name: "planted", needs: []string{"apart"}, says: "a socket that a service has planted is told no secret of root's", host: (*host).planted},
		{name: "odd-name", needs: []string{"start"}, says: "a service whose name is no user's runs all the same, and alone", host: (*host).oddName},
		{name: "journal", needs: []string{"start"}, says: "the journal tells of a peer that falls silent, and answers again", host: (*host).tells},
		{name: "reload", needs: []string{"start"}, says: "systemctl reload takes a changed file over, and refuses a wrong one", host: (*host).reloads},
		{name: "restart", needs: []string{"start"}, says: "a restart under load keeps the device and stalls for at most 200 ms", host: (*host).restarts},
		{name: "kill", needs: []string{"start"}, says: "kill -9: systemd starts it again", host: (*host).killed},
		{name: "full-tunnel", needs: []string{"install"}, says: "rules of a full tunnel stay over a restart, and go with a stop", host: (*host).fullTunnel},
		{name: "reconfigured", needs: []string{"start"}, says: "a restart with another configuration makes all anew", host: (*host).reconfigured},
		{name: "upgrade", needs: []string{"start"}, says: "an upgrade keeps device and connections", host: (*host).upgraded},
		{name: "agents", needs: []string{"start"}, says: "the agents' packages install programs, units and pages", host: (*host).agentsInstall},
		{name: "agent-runs", needs: []string{"agents"}, says: "each agent's service is a user of its own, and sees no control socket, from boot on", host: (*host).agentRuns},
		{name: "agent-adds", needs: []string{"agent-runs"}, says: "the daemon takes the agent's files, by their owner", host: (*host).agentAdds},
		{name: "agents-go", needs: []string{"agent-runs"}, says: "the agents' packages go, and leave nothing", host: (*host).agentsGo},
		{name: "stop", needs: []string{"start"}, says: "a stop leaves nothing", host: (*host).stopped},
		{name: "purge", needs: []string{"stop"}, says: "a purge leaves nothing", host: (*host).purged},
		{name: "divide", needs: []string{"purge"}, says: "an upgrade from one user for all services keeps devices and rules, and loses nothing", host: (*host).divided},
	}},
	{kind: "deb", place: managed, packages: true, checks: []check{
		{name: "neighbours", says: "NetworkManager and systemd-networkd leave every srdtun interface alone, and no other TUN", host: (*host).neighbours},
	}},
	{kind: "rpm", place: booted, packages: true, checks: []check{
		{name: "rpm", says: "the rpm installs, runs and goes", host: (*host).rpm},
		{name: "rpm-agents", says: "the agents' rpms install and go", host: (*host).agentRPMs},
	}},
	{kind: "image", place: here, checks: []check{
		{name: "image", says: "the steps of the Dockerfile make an image whose program runs", here: (*workshop).image},
	}},
}

func allKinds() (v []string) {
	for _, g := range groups {
		if !slices.Contains(v, g.kind) {
			v = append(v, g.kind)
		}
	}
	return v
}

func printKinds(w io.Writer) {
	for _, g := range groups {
		for _, c := range g.checks {
			fmt.Fprintf(w, "%-7s %-13s %s\n", g.kind, c.name, c.says)
		}
	}
}

// with returns the checks with these names, and all checks that they need. Without names, with
// returns all checks. The map found marks the names of existing checks.
func (g group) with(names []string, found map[string]bool) (v []check) {
	if len(names) == 0 {
		return g.checks
	}
	wanted := map[string]bool{}
	for _, c := range slices.Backward(g.checks) {
		if slices.Contains(names, c.name) {
			found[c.name], wanted[c.name] = true, true
		}
		if wanted[c.name] {
			v = append(v, c)
			for _, n := range c.needs {
				wanted[n] = true
			}
		}
	}
	slices.Reverse(v)
	return v
}
