package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/config"
)

func genkeyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "genkey",
		Short: "Write a new private key to standard output",
		Args:  takes(0, 0),
		RunE:  func(*cobra.Command, []string) error { return printSecret(config.GeneratePrivate) },
	}
}

// printSecret writes a new secret as wg does, in base64 with a newline.
func printSecret(generate func() (config.Secret, error)) error {
	warnWorldReadable(os.Stdout)
	s, err := generate()
	if err != nil {
		return err
	}
	_, err = fmt.Println(s.Reveal())
	return err
}

// warnWorldReadable warns, in the words of wg, if `out` is a file that all users may access.
func warnWorldReadable(out *os.File) {
	st, err := out.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Mode().Perm()&0o007 == 0 {
		return
	}
	fmt.Fprint(os.Stderr, "Warning: writing to world accessible file.\nConsider setting the umask to 077 and trying again.\n")
}
