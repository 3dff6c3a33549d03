package member

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/agent"
)

// othersRead has the permissions of group and others.
const othersRead fs.FileMode = 0o077

// fleetKeyCommand generates the fleet's key.
func fleetKeyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "fleetkey FILE",
		Short: "Make the fleet's key in a new file, and print the public one",
		Long: `fleetkey writes a new Ed25519 key, mode 0600, and prints the public key, which
members get as --fleet-key. Keep FILE away from members, and from
etcd and Kubernetes.`,
		Args: takes(1),
		RunE: func(c *cobra.Command, args []string) error {
			public, private, err := ed25519.GenerateKey(rand.Reader)
			if err != nil {
				return err
			}
			f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(f, base64.StdEncoding.EncodeToString(private.Seed()))
			if err := errors.Join(err, f.Close()); err != nil {
				return errors.Join(err, os.Remove(args[0]))
			}
			fmt.Fprintln(c.OutOrStdout(), base64.StdEncoding.EncodeToString(public))
			return nil
		},
	}
}

// signing holds the flags of the command sign.
type signing struct {
	key, fleet, public string
	allowed, within    []string
	expires            time.Duration
	ledger             string
}

// signCommand signs grants.
func (p *Program) signCommand() *cobra.Command {
	var s signing
	c := &cobra.Command{
		Use:   "sign NAME",
		Short: "Sign a grant for a member, into LEDGER/NAME.grant",
		Long: `sign writes a grant. It says that NAME with its public key is a member, and
which prefixes it may have. The grant belongs on that member (join --grant), and
is not secret.

The ledger is a directory with all signed grants. sign refuses a grant that
overlaps another name's grant in the ledger. A renewed grant keeps its day of
issue, which decides between two grants that overlap.`,
		Args: takes(1),
		RunE: func(_ *cobra.Command, args []string) error { return s.sign(p.member(args[0]), time.Now()) },
	}
	f := c.Flags()
	f.StringVar(&s.key, "key", "", "`file` with the fleet's key, from fleetkey")
	f.StringVar(&s.fleet, "fleet", "fleet", "the fleet's `name`")
	f.StringVar(&s.public, "public-key", "", "the member's public `key`, as srdtun init or srdtun pubkey prints it")
	f.StringSliceVar(&s.allowed, "allowed-ips", nil, "`prefixes` that the member may have")
	f.StringSliceVar(&s.within, "within", nil, "`networks` that its endpoints must be in; none: anywhere")
	f.DurationVar(&s.expires, "expires", 0, "validity of the grant; 0: for ever")
	f.StringVar(&s.ledger, "ledger", ".", "`directory` of all grants")
	return c
}

func (s *signing) sign(name string, now time.Time) error {
	key, err := readFleetKey(s.key)
	if err != nil {
		return err
	}
	g := &fleet.Grant{Fleet: s.fleet, Name: name, Issued: now, Signed: now}
	if g.PublicKey, err = fleet.ParseKey(s.public); err != nil {
		return Usagef("--public-key: %w", err)
	}
	if g.AllowedIPs, err = prefixes(s.allowed); err != nil {
		return Usagef("--allowed-ips: %w", err)
	}
	if g.Within, err = prefixes(s.within); err != nil {
		return Usagef("--within: %w", err)
	}
	if s.expires < 0 {
		return Usagef("--expires %v is over already", s.expires)
	}
	if s.expires > 0 {
		g.Expires = now.Add(s.expires)
	}
	if err := s.compare(g); err != nil {
		return err
	}
	if err := g.Sign(key); err != nil {
		return err
	}
	return replace(filepath.Join(s.ledger, name+".grant"), g.Format())
}

func prefixes(list []string) ([]netip.Prefix, error) {
	if len(list) == 0 {
		return nil, nil
	}
	return fleet.ParsePrefixes(strings.Join(list, ","))
}

// compare compares a grant with the earlier grants in the ledger. It refuses a key or prefix of
// another member. If the member has an earlier grant, it copies the time Issued from there.
func (s *signing) compare(g *fleet.Grant) error {
	files, err := filepath.Glob(filepath.Join(s.ledger, "*.grant"))
	if err != nil {
		return err
	}
	for _, file := range files {
		data, err := agent.ReadFile(file)
		if err != nil {
			return err
		}
		other, err := fleet.ParseGrant(data)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		switch {
		case other.Fleet != g.Fleet:
		case other.Name == g.Name:
			g.Issued = other.Issued
		case other.PublicKey == g.PublicKey:
			return fmt.Errorf("the key belongs to %s, in %s", other.Name, file)
		default:
			if p, q, both := overlap(g.AllowedIPs, other.AllowedIPs); both {
				return fmt.Errorf("%v overlaps %v, which belongs to %s, in %s", p, q, other.Name, file)
			}
		}
	}
	return nil
}

func overlap(a, b []netip.Prefix) (p, q netip.Prefix, both bool) {
	for _, p := range a {
		for _, q := range b {
			if p.Overlaps(q) {
				return p, q, true
			}
		}
	}
	return p, q, false
}

func readFleetKey(file string) (ed25519.PrivateKey, error) {
	if file == "" {
		return nil, Usagef("--key is missing")
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.Mode()&othersRead != 0 {
		return nil, fmt.Errorf("%s: others may use this file (mode %04o); run: chmod 600 %s", file, info.Mode().Perm(), file)
	}
	data, err := agent.ReadFile(file)
	if err != nil {
		return nil, err
	}
	seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("%s: not a key from fleetkey", file)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// replace replaces a file atomically, and waits until the file is on the disk. If a grant were
// lost, the command sign could not compare later grants with it.
func replace(file string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".grant-*")
	if err != nil {
		return instead(file, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(instead(file, err), os.Remove(f.Name()))
	}
	return nil
}

// instead returns the error of a temporary file with the name of the file that it was to replace.
func instead(file string, err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return &fs.PathError{Op: "write", Path: file, Err: errno}
	}
	return err
}
