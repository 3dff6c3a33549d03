package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/keytext"
)

// The error messages are those of wg pubkey, word for word, because scripts match them.
//
//lint:ignore ST1005 as wg has them
var errFormat, errTrailing = errors.New("Key is not the correct length or format"), errors.New("Trailing characters found after key")

func pubkeyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "pubkey",
		Short: "Read a private key from standard input, write its public key",
		Args:  takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			secret, err := readPrivate(os.Stdin)
			if err != nil {
				return err
			}
			public, err := secret.Public()
			if err != nil {
				return err
			}
			_, err = fmt.Println(public)
			return err
		},
	}
}

// readPrivate accepts the same input as wg: a key at the beginning, followed only by white space.
func readPrivate(in io.Reader) (config.Secret, error) {
	r := bufio.NewReader(in)
	var text [keytext.Chars]byte
	if _, err := io.ReadFull(r, text[:]); err != nil {
		return config.Secret{}, errFormat
	}
	key, err := config.ParseSecret(string(text[:]))
	if err != nil {
		return config.Secret{}, errFormat
	}
	for {
		c, err := r.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return key, nil
		case err != nil:
			return config.Secret{}, err
		case !isSpace(c):
			return config.Secret{}, errTrailing
		}
	}
}

// isSpace corresponds to isspace(3) in the C locale.
func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
