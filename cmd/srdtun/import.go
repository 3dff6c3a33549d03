package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/config"
)

// maxImport bounds a file of wg-quick's in bytes, as one of ours is.
const maxImport = 1 << 20

func importCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a configuration of a file of wg-quick's",
		Long: `Make a configuration of a file of wg-quick's, such as /etc/wireguard/wg0.conf. Keys,
addresses and peers are taken over; what has no counterpart stands in it as a comment
that says what to do. It is written to /etc/srdtun, under the same name, if there is none
yet. WireGuard and srdtun do not understand each other: both ends of a tunnel need the
same.`,
		Args: takes(1, 1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"conf"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(_ *cobra.Command, args []string) error { return importWG(args[0], output) },
	}
	c.Flags().StringVarP(&output, "output", "o", "", "write to `FILE` instead, or - for standard output")
	return c
}

func importWG(file, output string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxImport+1))
	if err != nil {
		return err
	}
	if len(data) > maxImport {
		return fmt.Errorf("%s has more than %d bytes", file, maxImport)
	}
	text, err := config.Import(file, data)
	if err != nil {
		return err
	}
	if output == "-" {
		warnWorldReadable(os.Stdout)
		_, err := os.Stdout.Write(text)
		return err
	}
	arg := output
	if output == "" {
		arg = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		output = filepath.Join(configDir(), arg+suffix)
		if err := os.MkdirAll(configDir(), 0o700); err != nil {
			return err
		}
	}
	if _, err := config.Parse(output, text); err != nil {
		return err
	}
	if err := writeNew(output, text); err != nil {
		return err
	}
	fmt.Printf("wrote %s\n", output)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#   ^ ") {
			fmt.Print("  " + strings.TrimPrefix(line, "#   ^ "))
		}
	}
	fmt.Printf("next: srdtun check %s\n", arg)
	return nil
}

func exportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "export NAME|FILE",
		Short: "Print a configuration as a file of wg-quick's",
		Long: `Print a configuration as a file of wg-quick's, with its secret keys. What that has no
words for stands in it as a comment, and of several endpoints the first is taken.`,
		Args:              takes(1, 1),
		ValidArgsFunction: completeConfigured,
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := load(args[0])
			if err != nil {
				return err
			}
			warnWorldReadable(os.Stdout)
			_, err = os.Stdout.Write(config.Export(c))
			return err
		},
	}
}
