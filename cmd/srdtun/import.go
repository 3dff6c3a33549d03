package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/bounded"
)

// maxImport bounds the size of a wg-quick file in bytes. The limit is that of a configuration.
const maxImport = 1 << 20

func importCommand() *cobra.Command {
	var output string
	var noHooks bool
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Convert a wg-quick file into a configuration",
		Long: `Convert a wg-quick file, such as /etc/wireguard/wg0.conf, to a configuration with
the same meaning. Without ListenPort any free port is used. If two peers have the same
prefix, the later one gets it. PreUp, PostUp, PreDown and PostDown become commands, which
run in bash if they are more than plain words; with --no-hooks they become comments. Peers
get the names in the comments. A setting without a counterpart becomes a comment, with a line on standard
error.

The result is written to /etc/srdtun under the same name, unless that file exists.
WireGuard and srdtun do not understand each other: both ends of a tunnel need the same.`,
		Args: takes(1, 1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"conf"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(_ *cobra.Command, args []string) error { return importWG(args[0], output, noHooks) },
	}
	c.Flags().StringVarP(&output, "output", "o", "", "write to `FILE` instead, or - for standard output")
	c.Flags().BoolVar(&noHooks, "no-hooks", false, "leave the commands of PreUp, PostUp, PreDown and PostDown out")
	return c
}

func importWG(file, output string, noHooks bool) error {
	data, err := bounded.File(file, maxImport)
	if err != nil {
		return err
	}
	_, noBash := exec.LookPath("bash")
	options := config.ImportOptions{NoHooks: noHooks, NoBash: noBash != nil, Tables: routingTables(tableDirs)}
	arg := output
	switch output {
	case "-":
		if config.CheckName(stem(file)) != nil {
			options.Name = "wg0" // any valid name, because the user names the file
		}
	case "":
		arg = stem(file)
		output = filepath.Join(configDir(), arg+suffix)
	default:
		options.Name = stem(output)
	}
	got, err := config.Import(file, data, options)
	if err != nil {
		if _, failed := config.Parse(file, data); failed == nil {
			return &config.Error{File: file, Msg: "is a configuration of srdtun already, and no file of wg-quick"}
		}
		return err
	}
	got.Notes = append(got.Notes, exposed(file, data)...)
	if output == "-" {
		warnWorldReadable(os.Stdout)
		_, err := os.Stdout.Write(got.Text)
		tell(got.Notes)
		return err
	}
	if arg != output {
		if err := os.MkdirAll(configDir(), 0o700); err != nil {
			return err
		}
	}
	if err := writeNew(output, got.Text); err != nil {
		return err
	}
	tell(got.Notes)
	fmt.Printf("wrote %s\nnext: srdtun check %s\n", output, arg)
	return nil
}

// exposed returns a warning if other users can read a file with secret keys. The new configuration
// has the same keys, and its mode 0600 would hide the problem.
func exposed(file string, data []byte) []string {
	info, err := os.Stat(file)
	dir, err2 := os.Stat(filepath.Dir(file))
	if err != nil || err2 != nil || !info.Mode().IsRegular() || len(config.SecretKeys(string(data))) == 0 {
		return nil
	}
	// Without the right to enter the directory, the right to read the file is worth nothing.
	entered := dir.Mode().Perm() & 0o011
	if info.Mode().Perm()&(entered<<2) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: others can read its secret keys (mode %04o); run: chmod 600 %[1]s; if others may have read them, generate new keys (warning)", file, info.Mode().Perm())}
}

// stem is a file's name without its directory and its extension.
func stem(file string) string {
	return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
}

// tell prints the notes of Import about differences between the new configuration and the imported
// file.
func tell(notes []string) {
	for _, n := range notes {
		fmt.Fprintln(os.Stderr, "srdtun: "+n)
	}
}

func exportCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "export NAME|FILE",
		Short: "Print a configuration as a wg-quick file",
		Long: `Print a configuration as a wg-quick file, with its secret keys. Settings
that wg-quick does not have become comments, and only the first of several endpoints is used.`,
		Args:              takes(1, 1),
		ValidArgsFunction: completeConfigured,
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := loadFound(args[0])
			if err != nil {
				return err
			}
			if output != "" && output != "-" {
				return writeNew(output, config.Export(c))
			}
			warnWorldReadable(os.Stdout)
			_, err = os.Stdout.Write(config.Export(c))
			return err
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "write to `FILE`, which must not exist, with mode 0600")
	return c
}
