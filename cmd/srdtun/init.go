package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control/rundir"
)

func initCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "init NAME",
		Short: "Write a commented configuration with a fresh key",
		Args:  takes(1, 1),
		RunE:  func(_ *cobra.Command, args []string) error { return initConfig(args[0], output) },
	}
	c.Flags().StringVarP(&output, "output", "o", "", "write to `FILE`, or - for standard output")
	return c
}

func initConfig(name, output string) error {
	if err := rundir.CheckName(name); err != nil {
		return &usageError{err}
	}
	if strings.HasPrefix(name, "-") {
		return usagef("%q would be taken for an option", name)
	}
	if err := config.CheckName(name); err != nil {
		return &usageError{err}
	}
	text, public, err := freshConfig(name)
	if err != nil {
		return err
	}
	if output == "-" {
		warnWorldReadable(os.Stdout)
		if _, err := os.Stdout.Write(text); err != nil {
			return err
		}
		_, err = fmt.Fprintf(os.Stderr, "public key: %s\n", public)
		return err
	}
	arg := output
	if output == "" {
		output, arg = filepath.Join(configDir(), name+suffix), name
		if err := os.MkdirAll(configDir(), 0o700); err != nil {
			return err
		}
	} else if !isFile(output) {
		arg = "./" + output
	}
	if err := writeNew(output, text); err != nil {
		return err
	}
	fmt.Printf("wrote %s\npublic key: %s\n", output, public)
	fmt.Printf("next: give it an address that no other end has, and a peer, then srdtun check %s and srdtun up %s\n", arg, arg)
	return nil
}

// freshConfig returns the text of a new configuration, and its public key.
func freshConfig(name string) (text []byte, public config.Key, err error) {
	if text, err = config.Template(name); err != nil {
		return nil, config.Key{}, err
	}
	c, err := config.Parse(name+suffix, text)
	if err != nil {
		return nil, config.Key{}, err
	}
	public, err = c.Interface.PrivateKey.Public()
	return text, public, err
}

// writeNew creates a file that only its owner can read.
func writeNew(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already and is not overwritten", file)
	}
	if err != nil {
		return unwritten(file, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(unwritten(file, err), os.Remove(file))
	}
	return nil
}
