package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/srdtun/srdtun/srd/ep"
)

// echo is the immediate value of a message that the server must send back.
const echo = 1

// addrsMost bounds the number of addresses that the command serve prints, because a host with many
// containers has dozens of addresses.
const addrsMost = 8

// socketFlags are the flags for the sockets of an endpoint.
type socketFlags struct {
	local   []string
	ports   int
	workers int
}

func (f *socketFlags) add(to *pflag.FlagSet) {
	to.StringSliceVar(&f.local, "local", nil, "addresses of this host to use; none: the kernel chooses")
	to.IntVar(&f.ports, "ports", 0, "number of source ports, and so of paths between two addresses; 0 means 16")
	to.IntVar(&f.workers, "workers", 1, "threads that carry packets")
}

// config adds the values of the flags to the configuration of an endpoint.
func (f *socketFlags) config(cfg ep.Config) (ep.Config, error) {
	for _, text := range f.local {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return cfg, usagef("--local %s: it is not an address", text)
		}
		cfg.Local = append(cfg.Local, a)
	}
	cfg.Protocol, cfg.Ports, cfg.Workers = protocol, f.ports, f.workers
	return cfg, nil
}

type serveFlags struct {
	socketFlags
	port     uint16
	size     string
	receives int
	of       string
	tagged   bool
}

func serveCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Accept messages, and answer each message of pingpong",
		Long: `Accept messages, and answer each message of pingpong. Prints KEY@ADDR for the other commands.
The key is new at each start. Up to 64 clients may measure at the same time.

For "srdperf many" the second server and the next ones are started with --clients-of and
the line of the first.`,
		Args: takes(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return serve(c.Context(), f, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f.add(c.Flags())
	c.Flags().Uint16Var(&f.port, "port", 0, "UDP port; 0: any free port")
	c.Flags().StringVar(&f.size, "size", "1M", "longest message")
	c.Flags().StringVar(&f.of, "clients-of", "", "KEY@ADDR of another server; its clients may also measure with this server")
	c.Flags().BoolVar(&f.tagged, "tagged", false, "accept the tagged messages of srdperf tagged, and nothing else")
	c.Flags().IntVar(&f.receives, "receives", 256, "receives that are posted: with --size, the memory that clients can use, beside one region of --size bytes for each client")
	return c
}

func serve(ctx context.Context, f serveFlags, out, note io.Writer) error {
	size, err := parseSize(f.size)
	if err != nil {
		return err
	}
	if f.receives < 1 || f.receives > depthMost {
		return usagef("--receives %d is not between 1 and %d", f.receives, depthMost)
	}
	cfg, err := f.config(ep.Config{Key: ep.NewKey(), Port: f.port, ReceiveDepth: f.receives})
	if err != nil {
		return err
	}
	if f.tagged {
		return serveTagged(ctx, f, cfg, size, out, note)
	}
	e, err := ep.Open(cfg)
	if err != nil {
		return err
	}
	defer e.Close()
	if err := f.allow(e.PublicKey(), e.Allow); err != nil {
		return err
	}
	for range f.receives {
		if err := e.PostReceive(make([]byte, size), 0); err != nil {
			return err
		}
	}
	addrs, err := f.addresses(e.Port())
	if err != nil {
		return err
	}
	fmt.Fprintln(out, target{e.PublicKey(), addrs})
	s := server{e: e, size: size, clients: map[ep.PublicKey]*ep.Handle{}, regions: map[ep.PublicKey]*ep.Region{}}
	err = s.run(ctx)
	fmt.Fprintf(note, "%d messages, %d bytes, %d echoes; %d clients\n", s.messages, s.bytes, s.echoes, len(s.clients))
	return err
}

// allow calls let() with the public keys of all clients of a server, so that the endpoint accepts
// their messages.
func (f *serveFlags) allow(server ep.PublicKey, let func(ep.PublicKey) error) error {
	if f.of != "" {
		t, err := parseTarget(f.of)
		if err != nil {
			return err
		}
		server = t.key
	}
	for i := range clientsMost {
		key, err := clientKey(server, i)
		if err == nil {
			err = let(key.Public())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addresses returns the addresses at which clients reach this host.
func (f *serveFlags) addresses(port uint16) (v []netip.AddrPort, err error) {
	for _, text := range f.local {
		v = append(v, netip.AddrPortFrom(netip.MustParseAddr(text), port)) // open has parsed it
	}
	if len(v) > 0 {
		return v, nil
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().IsGlobalUnicast() && len(v) < addrsMost {
			v = append(v, netip.AddrPortFrom(p.Addr(), port))
		}
	}
	if len(v) == 0 {
		v = []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)}
	}
	return v, nil
}

type server struct {
	e       *ep.Endpoint
	size    int
	clients map[ep.PublicKey]*ep.Handle // at most clientsMost
	regions map[ep.PublicKey]*ep.Region // regions of clients that requested one

	messages, bytes, echoes uint64
}

// run serves until ctx ends.
func (s *server) run(ctx context.Context) error {
	batch, done := make([]ep.Completion, 64), make([]ep.Completion, 64)
	for {
		n, err := s.e.Receives().Wait(ctx, batch)
		if errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range batch[:n] {
			if err := s.serve(&batch[i]); err != nil {
				return err
			}
		}
		for s.e.Sends().Poll(done) > 0 { // the results of echoes are not used
		}
	}
}

func (s *server) serve(c *ep.Completion) error {
	s.messages++
	s.bytes += uint64(len(c.Data))
	h := s.clients[c.From]
	if h == nil {
		var err error
		if h, err = s.e.Handle(c.From); err != nil {
			return err
		}
		s.clients[c.From] = h
	}
	if c.HasImmediate && c.Immediate == wantRegion {
		if err := s.grant(h); err != nil {
			return err
		}
	}
	// TrySend drops the echo if the client reads its echoes too slowly. A slow client must not
	// delay the other clients.
	if c.HasImmediate && c.Immediate == echo && s.e.TrySend(h, c.Data, ep.SendOptions{Quiet: true}) == nil {
		s.echoes++
	}
	return s.e.PostReceive(c.Data[:cap(c.Data)], 0)
}
