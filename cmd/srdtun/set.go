package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
)

// keyPolicy is what can be changed while running, for all peers at once.
const keyPolicy = "paths.policy"

func setCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "set NAME|FILE KEY=VALUE...",
		Short: "Change a running interface",
		Long: `Change a running interface, without losing a packet: all that is asked for, or
nothing. The configuration file is not changed.

  paths.policy=POLICY      how packets are spread over the paths to all peers
  peer.PEER.policy=POLICY  the same for one, by its name or public key

Policies: ` + strings.Join(config.Policies, ", ") + ".",
		Args:              takes(2, maxSettings+1),
		ValidArgsFunction: completeSet,
		RunE:              func(_ *cobra.Command, args []string) error { return set(args[0], args[1:]) },
	}
}

// maxSettings bounds the settings of one command line: each is a request on one
// connection, which the daemon ends after some seconds.
const maxSettings = 256

func set(arg string, settings []string) error {
	wanted, err := parseSettings(settings)
	if err != nil {
		return err
	}
	name, err := interfaceName(arg)
	if err != nil {
		return err
	}
	c, err := control.Dial(name)
	if err != nil {
		return err
	}
	defer c.Close()
	// All or nothing: one that is refused must not leave those before it.
	for _, s := range wanted {
		if err := c.Check(s.key, s.value); err != nil {
			return err
		}
	}
	for _, s := range wanted {
		if err := c.Set(s.key, s.value); err != nil {
			return err
		}
	}
	return nil
}

// setting is one KEY=VALUE.
type setting struct{ key, value string }

// parseSettings reads what needs no daemon to judge.
func parseSettings(args []string) (v []setting, err error) {
	for _, s := range args {
		// A public key in base64 ends with an equals sign, a policy does not.
		i := strings.LastIndexByte(s, '=')
		if i <= 0 {
			return nil, usagef("%q is no KEY=VALUE", s)
		}
		one := setting{s[:i], s[i+1:]}
		if strings.HasSuffix(one.key, ".policy") && !slices.Contains(config.Policies, one.value) {
			return nil, usagef("no path policy is named %.64q; there are %s", one.value, strings.Join(config.Policies, ", "))
		}
		v = append(v, one)
	}
	return v, nil
}

func completeSet(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return completeRunning(c, args, typed)
	}
	var v []string
	for _, p := range config.Policies {
		v = append(v, keyPolicy+"="+p)
	}
	return v, cobra.ShellCompDirectiveNoFileComp
}
