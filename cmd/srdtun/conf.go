package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
)

func showconfCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "showconf NAME|FILE",
		Short: "Print the running configuration, with its keys",
		Long: `Print the running configuration as a file, with its secret keys, and without the peers
of drop-in files. Only root may do this.`,
		Args:              takes(1, 1),
		ValidArgsFunction: completeRunning,
		RunE:              func(_ *cobra.Command, args []string) error { return showconf(args[0]) },
	}
}

func showconf(arg string) error {
	return asking(arg, func(c *control.Client) error {
		text, err := c.Config()
		if err != nil {
			return err
		}
		warnWorldReadable(os.Stdout)
		_, err = os.Stdout.WriteString(text)
		return err
	})
}

func syncconfCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "syncconf NAME FILE",
		Short: "Apply another file to a running interface",
		Long: `Apply another file to a running interface, as "reload" applies the interface's own file.
The interface's own file is not changed, and "reload" returns to it.`,
		Args:              takes(2, 2),
		ValidArgsFunction: completeThenFile,
		RunE: func(_ *cobra.Command, args []string) error {
			return handOver(args, control.HowSync, func(file string) ([]byte, error) {
				c, err := config.Load(file)
				if err != nil {
					return nil, err
				}
				return config.Format(c), nil
			})
		},
	}
}

func addconfCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "addconf NAME FILE",
		Short: "Add the peers of a file to a running interface",
		Long: `Add the peers of a file to a running interface. The file has only [[peer]] sections. If
the interface already has a peer with the same key, the peer gets the file's settings. The
interface's own file is not changed.`,
		Args:              takes(2, 2),
		ValidArgsFunction: completeThenFile,
		RunE: func(_ *cobra.Command, args []string) error {
			return handOver(args, control.HowAdd, func(file string) ([]byte, error) {
				peers, err := config.LoadPeers(file)
				if err != nil {
					return nil, err
				}
				return config.FormatPeers(peers), nil
			})
		},
	}
}

// handOver reads a file with the function read(), and sends the resulting configuration to a
// daemon.
func handOver(args []string, how string, read func(file string) ([]byte, error)) error {
	at, err := placeOf(args[0])
	if err != nil {
		return err
	}
	text, err := read(args[1])
	if err != nil {
		return err
	}
	return change(at, control.Change{How: how, Config: string(text)})
}

// completeThenFile completes the name of a running interface, and then a file.
func completeThenFile(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return []string{"toml"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return completeRunning(c, args, typed)
}
