package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/overlay/control"
)

// keyPolicy is the configuration key for the path policy of all peers. Every user with access to
// the socket may change the policy.
const keyPolicy = "paths.policy"

func setCommand() *cobra.Command {
	var save bool
	c := &cobra.Command{
		Use:   "set NAME|FILE KEY=VALUE...",
		Short: "Change a running interface",
		Long: `Change keys of a running interface, without losing a packet: all of them or none.
The differences are printed as by "reload". The file changes only with --save; otherwise
"show" lists where it differs. Keys are named as in the file. A VALUE without quotes is
text, and commas separate the members of a list. An empty VALUE removes the key.

  paths.policy=POLICY      how packets are spread over the paths to all peers
  peer.PEER.policy=POLICY  the same for one, by its name, public key,
                           or an address inside the tunnel
  peer.PEER.endpoints=HOST:PORT,...
  peer.PEER.allowed_ips=PREFIX,...
  peer.PEER.preshared_key=KEY, peer.PEER.persistent_keepalive=SECONDS
  interface.address=PREFIX,..., paths.local=ADDRESS,..., and others

Members of the socket's group may set policies. The rest is for root.

Policies: ` + strings.Join(config.Policies, ", ") + ".",
		Args:              takes(2, maxSettings+1),
		ValidArgsFunction: completeSet,
		RunE:              func(_ *cobra.Command, args []string) error { return set(args[0], args[1:], save) },
	}
	c.Flags().BoolVar(&save, "save", false, "also write the change to the file, and keep its comments")
	return c
}

// maxSettings bounds the number of settings on one command line.
const maxSettings = 256

func set(arg string, settings []string, save bool) error {
	wanted, err := parseSettings(settings)
	if err != nil {
		return err
	}
	at, err := placeOf(arg)
	if err != nil {
		return err
	}
	if save {
		return setAndSave(arg, at, wanted)
	}
	return change(at, request(wanted, false))
}

func request(wanted []config.Setting, save bool) control.Change {
	what := control.Change{How: control.HowSet, Save: save}
	for _, s := range wanted {
		what.Settings = append(what.Settings, control.Setting(s))
	}
	return what
}

// parseSettings parses settings, and makes the checks for which no daemon is needed.
func parseSettings(args []string) (v []config.Setting, err error) {
	for _, s := range args {
		one, ok := splitSetting(s)
		if !ok {
			return nil, usagef("%s is not KEY=VALUE; %s", keytext.Quote(s), hint(s))
		}
		if strings.HasSuffix(one.Key, ".policy") && !slices.Contains(config.Policies, one.Value) && one.Value != "" {
			return nil, usagef("no path policy is named %s; there are %s", keytext.Quote(one.Value), strings.Join(config.Policies, ", "))
		}
		v = append(v, one)
	}
	return v, nil
}

// hint returns a text that tells the user how to complete a word that has no value.
func hint(word string) string {
	if config.IsKey(word) {
		return "type " + keytext.Hide(word, nil) + "=VALUE, without blanks"
	}
	section, _, _ := strings.Cut(word, ".")
	for _, k := range config.LiveKeys() {
		if of, ok := strings.CutPrefix(k, "peer."); ok && section == "peer" && of == "endpoints" {
			return "type for instance peer.NAME.endpoints=192.0.2.1:51820, without blanks"
		} else if section != "peer" && strings.HasPrefix(k, section+".") {
			return "type for instance " + k + "=VALUE, without blanks"
		}
	}
	return "type for instance " + keyPolicy + "=" + config.DefaultPolicy + ", without blanks"
}

// splitSetting splits a setting at the equals sign after the key. A setting may also contain public
// keys and secrets, which end with an equals sign.
func splitSetting(s string) (config.Setting, bool) {
	first := strings.IndexByte(s, '=')
	if first <= 0 {
		return config.Setting{}, false
	}
	for i := first; i < len(s); i++ {
		if s[i] == '=' && config.IsKey(s[:i]) {
			return config.Setting{Key: s[:i], Value: s[i+1:]}, true
		}
	}
	// If the setting is faulty in another way, the daemon reports that.
	for strings.HasPrefix(s[first:], "=.") && strings.Contains(s[first+1:], "=") { // the padding of a public key
		first += 1 + strings.IndexByte(s[first+1:], '=')
	}
	return config.Setting{Key: s[:first], Value: s[first+1:]}, true
}

func completeSet(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return completeRunning(c, args, typed)
	}
	keys := []string{keyPolicy}
	for _, k := range config.LiveKeys() {
		if !strings.HasPrefix(k, "peer.") && k != keyPolicy {
			keys = append(keys, k)
		}
	}
	if list, _, err := statuses(args[0], control.Part{}); err == nil {
		for _, p := range list[0].Peers {
			for _, k := range config.LiveKeys() {
				if of, ok := strings.CutPrefix(k, "peer."); ok && of != "public_key" {
					keys = append(keys, "peer."+title(p)+"."+of)
				}
			}
		}
	}
	var v []string
	for _, k := range keys {
		if !strings.HasSuffix(k, ".policy") {
			v = append(v, k+"=")
			continue
		}
		for _, p := range config.Policies {
			v = append(v, k+"="+p)
		}
	}
	return v, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// title returns the name of a peer as it is written in a setting's key.
func title(p control.Peer) string {
	if p.Name != "" {
		return p.Name
	}
	return p.PublicKey
}
