package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
)

// Two interfaces of a host may have the same private key, as with WireGuard. But a peer keeps one
// session for each key. If both interfaces call the same daemon, each call ends the session of the
// other interface, and both lose packets. With different peers both work. With the same peer at
// different addresses both work only if the peer has a daemon at each address, which this end
// cannot see.

// identity is a key that an interface uses, with its peers.
type identity struct {
	name  string // of the interface or its file, for messages
	key   string // the public key
	peers []callee
}

// callee is a peer that an interface calls.
type callee struct {
	title, key string
	endpoints  []string
}

// identityOf returns the identity of a configuration with the drop-in files of root. Another user
// must not be able to prevent a start of root's.
func identityOf(name string, c *config.Config) identity {
	v := identity{name: name}
	if public, err := c.Interface.PrivateKey.Public(); err == nil {
		v.key = public.String()
	}
	if all, _, err := config.WithDropIns(c); err == nil {
		c = all
	}
	for i := range c.Peers {
		p := &c.Peers[i]
		if p.Guest {
			continue
		}
		to := callee{title: p.Title(), key: p.PublicKey.String()}
		for _, e := range p.Endpoints {
			to.endpoints = append(to.endpoints, e.String())
		}
		v.peers = append(v.peers, to)
	}
	return v
}

func identityIn(st *control.Status) identity {
	v := identity{name: fmt.Sprintf("%s (%s)", st.Interface, st.File), key: st.PublicKey}
	for i := range st.Peers {
		v.peers = append(v.peers, callee{title(st.Peers[i]), st.Peers[i].PublicKey, st.Peers[i].Endpoints})
	}
	return v
}

// clash describes the conflict between the interface v and another interface. It returns "" if
// there is none. The conflict is certain if both call a peer at the same address.
func (v identity) clash(other identity) (text string, certain bool) {
	if v.key != other.key || v.key == "" {
		return "", false
	}
	for _, p := range v.peers {
		i := slices.IndexFunc(other.peers, func(o callee) bool { return o.key == p.key })
		if i < 0 {
			continue
		}
		for _, e := range p.endpoints {
			if slices.Contains(other.peers[i].endpoints, e) {
				return fmt.Sprintf("%s has the same private key, and both call peer %s at %s, which answers only the latest caller", other.name, p.title, e), true
			}
		}
		text = fmt.Sprintf("%s has the same private key and the same peer, %s: a peer has one session for each key, so both interfaces work only if the peer has a daemon for each of them; otherwise give this one its own key (srdtun genkey)", other.name, p.title)
	}
	return text, false
}

// ownKey is the advice for a clash.
const ownKey = "give each its own key (srdtun genkey)"

// clashes returns the warnings about running interfaces with the private key of c. The error
// `refused` is a reason not to start c.
func clashes(c *config.Config) (doubts []error, refused error) {
	own := identityOf(c.File, c)
	for _, other := range runningWith(own.key, c) {
		switch text, certain := own.clash(other); {
		case certain:
			refused = errors.Join(refused, doubtKey(c, "%s; take that interface down, or %s", text, ownKey))
		case text != "":
			doubts = append(doubts, doubtKey(c, "%s", text))
		}
	}
	return doubts, refused
}

// doubtClashes returns the warnings of "check" about interfaces and files with the private key of c.
func doubtClashes(c *config.Config, others []*config.Config) []error {
	doubts, refused := clashes(c)
	if refused != nil {
		var e *config.Error
		if errors.As(refused, &e) {
			e.Msg = "the start would fail now: " + e.Msg
			return append(doubts, e)
		}
	}
	own, unlikely := identityOf(c.File, c), doubts
	for _, o := range others {
		if _, err := net.InterfaceByName(o.Interface.Name); err == nil || o.Interface.Name == c.Interface.Name {
			continue // it runs, or only one of both can
		}
		switch text, certain := own.clash(identityOf(o.File, o)); {
		case certain:
			return append(doubts, doubtKey(c, "%s: only one of the interfaces can be up; %s", text, ownKey))
		case text != "" && len(unlikely) == len(doubts):
			unlikely = append(doubts, doubtKey(c, "%s", text))
		}
	}
	return unlikely
}

// doubtKey returns a doubt about the private key of c.
func doubtKey(c *config.Config, format string, args ...any) error {
	key := "private_key"
	for _, k := range c.KeyFiles() {
		if k.Key == "interface.private_key_file" {
			key += "_file"
		}
	}
	return c.Doubt("interface", key, format, args...)
}

// runningWith returns the identities of running interfaces of this host with the given public key,
// except that of c.
func runningWith(key string, c *config.Config) (found []identity) {
	all, _ := rundir.All()
	all = slices.DeleteFunc(all, func(p rundir.Place) bool {
		_, err := net.InterfaceByName(p.Device) // it may be in another network namespace, which is another host
		return err != nil || p.Device == c.Interface.Name
	})
	var byHand []rundir.Place
	for _, p := range all {
		if p.Service == "" {
			byHand = append(byHand, p)
		} else if o, err := config.Load(filepath.Join(configDir(), p.Service+suffix)); err == nil && o.Interface.Name == p.Device {
			// The file counts, because a service can claim any key.
			if v := identityOf(fmt.Sprintf("%s (%s)", p.Device, o.File), o); v.key == key {
				found = append(found, v)
			}
		}
	}
	for _, a := range askAll(byHand, control.Part{Brief: true}) {
		if a.err != nil || a.status.PublicKey != key {
			continue
		}
		if st, err := askWithin(a.at, control.Part{}, askWait); err == nil {
			found = append(found, identityIn(st))
		}
	}
	return found
}

// runningClashes returns a line for each pair of running interfaces with a clash.
func runningClashes() (lines []string) {
	all := interfaces()
	for i, st := range all {
		for _, other := range all[:i] {
			if st.PublicKey != other.PublicKey {
				continue
			}
			a, errA := askOne(st.Interface, control.Part{})
			b, errB := askOne(other.Interface, control.Part{})
			if errA != nil || errB != nil {
				continue
			}
			if text, _ := identityIn(a.Status).clash(identityIn(b.Status)); text != "" {
				lines = append(lines, st.Interface+": "+text)
			}
		}
	}
	return lines
}

// warnClashes refuses a start that would break another interface, and prints warnings about
// interfaces with the same key.
func warnClashes(c *config.Config, r *reporter) error {
	doubts, refused := clashes(c)
	for _, d := range doubts {
		fmt.Fprintf(os.Stderr, "srdtun: %v (warning)\n", d)
		r.warned([]string{d.Error()})
	}
	if refused != nil {
		return errors.New(oneLine(refused)) // not a fault of the file alone, so the service manager tries again
	}
	return nil
}

// The systemd unit runs startingCommand as root (ExecStartPre=), because the daemon's own user may
// not ask the other daemons.
func startingCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "starting NAME",
		Hidden: true,
		Short:  "Check that the service NAME breaks no running interface",
		Args:   takes(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := config.Load(filepath.Join(configDir(), args[0]+suffix))
			if config.OthersMay(err) {
				return rundir.Refuse(err.Error())
			}
			switch {
			case errors.Is(err, config.ErrOthersWrite):
				// The daemon, which reports other faults, does not see the original file. It does
				// not run commands as root, so it may start.
				fmt.Fprintf(os.Stderr, "srdtun: %v (warning)\n", err)
				return nil
			case err != nil:
				return nil
			}
			return warnClashes(c, &reporter{})
		},
	}
}
