// Package member implements the commands of a fleet's agents: join, members, leave, fleetkey,
// sign. Each program adds its store, such as etcd or Kubernetes.
package member

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/agent"
	"github.com/srdtun/srdtun/internal/logline"
)

// The exit codes have the same meanings as those of srdtun.
const (
	ExitFailure = 1
	ExitUsage   = 2
)

type usageError struct{ error }

// Usagef returns an error for an invalid command line.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Run executes one command line, and returns the exit code. Run prints an error as one line on
// standard error.
func (p *Program) Run(args []string) int {
	root := p.Root()
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions = cobra.CompletionOptions{HiddenDefaultCmd: true}
	root.SetVersionTemplate(root.Name() + " {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "%s%s: %s\n", logline.ErrorPrefix(), root.Name(), strings.ReplaceAll(err.Error(), "\n", "; "))
	var usage usageError
	if errors.As(err, &usage) {
		return ExitUsage
	}
	return ExitFailure
}

// takes checks that a command has exactly n arguments.
func takes(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return Usagef("usage: %s", c.UseLine())
		}
		return nil
	}
}

// policyFlags adds the flags for the operator's policy files.
func policyFlags(c *cobra.Command, p *agent.Files) {
	f := c.Flags()
	f.StringVar(&p.Allow, "allow", "", "`file` with the members that are allowed: NAME KEY PREFIXES")
	f.StringVar(&p.Keys, "fleet-key", "", "`file` with the public keys that sign grants")
	f.StringVar(&p.Deny, "deny", "", "`file` with public keys that are always denied")
	f.StringVar(&p.Fleet, "fleet", "fleet", "the fleet's `name`, as in the grants")
}

// Self has the settings for this host's record.
type Self struct {
	Grant     string   // a file, or a directory with the file NAME.grant
	Addresses []string // ADDRESS:PORT, or ADDRESS
	Port      uint16   // port for addresses without a port
}

// defaultPort is the daemon's default UDP port.
const defaultPort = 51820

// Flags adds the flags for this host's record.
func (s *Self) Flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.Grant, "grant", "", "`file` with this host's grant, from sign, or a directory that has it as NAME.grant")
	f.StringSliceVar(&s.Addresses, "address", nil, "`ADDRESS` or ADDRESS:PORT, [ADDRESS]:PORT for IPv6, at which the others call this host's daemon; none: it calls them")
	f.Uint16Var(&s.Port, "port", defaultPort, "`port` of an --address that names none")
}

// Record makes the record from the host's grant, or from the host's line in the allow list. This
// host's own policy must admit the record, because otherwise the other members would refuse it too.
func (s *Self) Record(name string, policy fleet.Policy) (*fleet.Record, error) {
	if err := fleet.CheckName(name); err != nil {
		return nil, usageError{err}
	}
	var at []netip.AddrPort
	for _, text := range s.Addresses {
		e, err := s.endpoint(text)
		if err != nil {
			return nil, Usagef("--address %w", err)
		}
		at = append(at, e)
	}
	var record *fleet.Record
	if s.Grant != "" {
		file := s.grantOf(name)
		data, err := agent.ReadFile(file)
		if err != nil {
			return nil, err
		}
		g, err := fleet.ParseGrant(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		record = g.Claimed(at)
	} else if a := policy.Allow.Find(name); a != nil {
		record = a.Claimed(at)
	} else {
		return nil, fmt.Errorf("%s is not in the allow list, and there is no --grant", name)
	}
	if record.Name != name {
		return nil, fmt.Errorf("the grant is for %s, not for %s", record.Name, name)
	}
	if _, err := fleet.ParseRecord(record.Format()); err != nil {
		return nil, err
	}
	if err := policy.Judge(record, time.Now()); err != nil {
		return nil, fmt.Errorf("this host's own policy refuses its record: %w", err)
	}
	return record, nil
}

// grantOf returns the path of a member's grant.
func (s *Self) grantOf(name string) string {
	if info, err := os.Stat(s.Grant); err == nil && info.IsDir() {
		return filepath.Join(s.Grant, name+".grant")
	}
	return s.Grant
}

// endpoint parses an address of this host, with or without a port. An address without a port, such
// as the address of a Kubernetes node, gets the port from --port.
func (s *Self) endpoint(text string) (netip.AddrPort, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return fleet.ParseEndpoint(netip.AddrPortFrom(a, s.Port).String())
	}
	e, err := fleet.ParseEndpoint(text)
	if err == nil {
		return e, nil
	}
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		if a, aerr := netip.ParseAddr(text[:i]); aerr == nil && a.Is6() {
			return e, fmt.Errorf("%q is not an address with a port; write [%s]:%s", text, text[:i], text[i+1:])
		}
	}
	return e, err
}

// list prints a table of all members, including refused ones.
func list(w io.Writer, all []fleet.Standing) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tPUBLIC KEY\tENDPOINTS\tALLOWED IPS\tSTANDING")
	join := func(n int, at func(int) string) string {
		v := make([]string, n)
		for i := range v {
			v[i] = at(i)
		}
		if n == 0 {
			return "-"
		}
		return strings.Join(v, ",")
	}
	for _, s := range all {
		standing := "member"
		if s.Refused != "" {
			standing = "refused: " + s.Refused
		}
		key, endpoints, prefixes := "-", "-", "-"
		if r := s.Record; r != nil {
			key = r.PublicKey.String()
			endpoints = join(len(r.Endpoints), func(i int) string { return r.Endpoints[i].String() })
			prefixes = join(len(r.AllowedIPs), func(i int) string { return r.AllowedIPs[i].String() })
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", s.Name, key, endpoints, prefixes, standing)
	}
	return t.Flush()
}
