package main

import (
	"context"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/msg"
)

// The upper bounds of the options keep a typing error from using all memory.
const (
	depthMost   = 1 << 16
	targetsMost = 1 << 10
	patience    = 10 * time.Second // for the first completion
	messageMost = math.MaxInt32
)

// clientFlags are the flags of all commands except serve.
type clientFlags struct {
	socketFlags
	mode      string
	sizes     []string
	messages  int
	warmup    int
	depth     int
	senders   int
	client    int
	time      time.Duration
	json      bool
	histogram bool
	ordered   bool
}

// command makes a Cobra command with its flags. The fields of f are the defaults of the flags.
func (f clientFlags) command(use, short string, most int) *cobra.Command {
	f.mode, _, _ = strings.Cut(use, " ")
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  takes(1, most),
		RunE: func(c *cobra.Command, args []string) error {
			return f.measure(c.Context(), args, &table{out: c.OutOrStdout(), json: f.json, histogram: f.histogram})
		},
	}
	v := c.Flags()
	f.add(v)
	v.StringSliceVarP(&f.sizes, "size", "s", f.sizes, "sizes of messages, as in 64,4K,1M")
	v.IntVarP(&f.messages, "iters", "n", f.messages, "messages to each destination")
	v.IntVarP(&f.warmup, "warmup", "w", f.warmup, "messages sent before the measurement")
	v.DurationVarP(&f.time, "duration", "D", 0, "how long to measure, instead of --iters")
	v.IntVar(&f.client, "client", 0, "number of the first client, 0 to 63; clients that run at the same time need different numbers")
	v.BoolVar(&f.json, "json", false, "print a line of JSON for each size")
	v.BoolVarP(&f.histogram, "histogram", "H", false, "draw the latencies")
	if f.mode != "pingpong" {
		v.IntVarP(&f.depth, "depth", "d", f.depth, "messages in flight to each destination")
	}
	if f.mode == "tagged" {
		v.BoolVar(&f.ordered, "ordered", false, "messages are matched in the order in which they were sent")
	}
	if f.mode == "incast" {
		v.IntVar(&f.senders, "senders", f.senders, "endpoints that send")
	}
	return c
}

func pingpongCommand() *cobra.Command {
	return clientFlags{sizes: []string{"64"}, messages: 10000, warmup: 100, depth: 1, senders: 1}.
		command("pingpong KEY@ADDR", "Measure round trips, one after another", 1)
}

func bandwidthCommand() *cobra.Command {
	return clientFlags{sizes: []string{"64K"}, messages: 10000, warmup: 100, depth: 64, senders: 1}.
		command("bandwidth KEY@ADDR", "Measure bytes per second", 1)
}

func rateCommand() *cobra.Command {
	return clientFlags{sizes: []string{"64"}, messages: 200000, warmup: 1000, depth: 128, senders: 1}.
		command("rate KEY@ADDR", "Measure small messages per second", 1)
}

func writeCommand() *cobra.Command {
	return clientFlags{sizes: []string{"64K"}, messages: 10000, warmup: 100, depth: 64, senders: 1}.
		command("write KEY@ADDR", "Write to the server's memory", 1)
}

func readCommand() *cobra.Command {
	return clientFlags{sizes: []string{"64K"}, messages: 10000, warmup: 100, depth: 64, senders: 1}.
		command("read KEY@ADDR", "Read the server's memory", 1)
}

func taggedCommand() *cobra.Command {
	return clientFlags{sizes: []string{"64K"}, messages: 10000, warmup: 100, depth: 64, senders: 1}.
		command("tagged KEY@ADDR", "Send tagged messages, to srdperf serve --tagged", 1)
}

func incastCommand() *cobra.Command {
	return clientFlags{sizes: []string{"64K"}, messages: 1000, warmup: 10, depth: 16, senders: 8}.
		command("incast KEY@ADDR", "Send from many endpoints to one", 1)
}

func manyCommand() *cobra.Command {
	return clientFlags{sizes: []string{"64K"}, messages: 1000, warmup: 10, depth: 16, senders: 1}.
		command("many KEY@ADDR KEY@ADDR..", "Send from one endpoint to many", targetsMost)
}

// check refuses options outside their bounds.
func (f *clientFlags) check() error {
	for _, x := range []struct {
		name              string
		value, least, end int
	}{
		{"iters", f.messages, 1, messageMost}, {"warmup", f.warmup, 0, messageMost}, {"depth", f.depth, 1, depthMost},
		{"senders", f.senders, 1, clientsMost}, {"client", f.client, 0, clientsMost - f.senders},
	} {
		if x.value < x.least || x.value > x.end {
			return usagef("--%s %d is not between %d and %d", x.name, x.value, x.least, x.end)
		}
	}
	if f.time < 0 {
		return usagef("--duration %v is negative", f.time)
	}
	return nil
}

// parseSize reads a number of bytes, with an optional suffix K or M.
func parseSize(text string) (int, error) {
	digits, shift := text, 0
	switch {
	case strings.HasSuffix(text, "K"):
		digits, shift = text[:len(text)-1], 10
	case strings.HasSuffix(text, "M"):
		digits, shift = text[:len(text)-1], 20
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n<<shift > ep.MaxMessage {
		return 0, usagef("--size %s: it is a number of bytes up to %dM, as in 64, 4K or 1M", text, ep.MaxMessage>>20)
	}
	return int(n << shift), nil
}

// sender is an endpoint with handles of its destinations.
type sender struct {
	e  *ep.Endpoint
	to []*ep.Handle
	// A sender of tagged messages uses the fields m and tagged instead of e and to.
	m      *msg.Endpoint
	tagged []*msg.Handle
}

func (s *sender) close() {
	if s.e != nil {
		s.e.Close()
	}
	if s.m != nil {
		s.m.Close()
	}
}

// measure runs the command once for each size.
func (f *clientFlags) measure(ctx context.Context, args []string, out *table) error {
	if err := f.check(); err != nil {
		return err
	}
	var sizes []int
	for _, text := range f.sizes {
		n, err := parseSize(text)
		if err != nil {
			return err
		}
		sizes = append(sizes, n)
	}
	var to []target
	for _, text := range args {
		t, err := parseTarget(text)
		if err != nil {
			return err
		}
		to = append(to, t)
	}
	for _, size := range sizes {
		r, err := f.row(ctx, to, size)
		if err != nil {
			return err
		}
		if err := out.add(r); err != nil || r.Interrupted {
			return err
		}
	}
	return nil
}

// row measures one message size with new endpoints.
func (f *clientFlags) row(ctx context.Context, to []target, size int) (result, error) {
	var senders []sender
	defer func() {
		for _, s := range senders {
			s.close()
		}
	}()
	for i := range f.senders {
		s, err := f.sender(to, f.client+i)
		if err != nil {
			return result{}, err
		}
		senders = append(senders, s)
	}
	// The messages of the warm-up also establish the sessions.
	all, err := together(senders, func(s sender) (*tally, error) { return f.one(ctx, s, size, extent{messages: max(1, f.warmup)}) })
	if err == nil {
		all, err = together(senders, func(s sender) (*tally, error) { return f.one(ctx, s, size, extent{f.messages, f.time}) })
	}
	if err != nil {
		return result{}, err
	}
	r := newResult(f.mode, size, f.depth, all)
	r.Interrupted = ctx.Err() != nil
	return r, nil
}

// sender opens an endpoint with the key of a client of the first target, which has the given
// number. The other targets must allow this client with --clients-of.
func (f *clientFlags) sender(to []target, number int) (s sender, err error) {
	key, err := clientKey(to[0].key, number)
	if err != nil {
		return s, err
	}
	cfg, err := f.config(ep.Config{Key: key, SendDepth: f.depth, Unresponsive: patience})
	if err != nil {
		return s, err
	}
	if f.mode == "tagged" {
		return f.openTagged(cfg, to)
	}
	if s.e, err = ep.Open(cfg); err != nil {
		return s, err
	}
	for _, t := range to {
		h, err := s.e.Handle(t.key, t.addrs...)
		if err != nil {
			s.e.Close()
			return s, err
		}
		s.to = append(s.to, h)
	}
	return s, nil
}

// one measures the messages of one sender, all of one size.
func (f *clientFlags) one(ctx context.Context, s sender, size int, x extent) (*tally, error) {
	if f.mode == "pingpong" {
		return rally(ctx, s.e, s.to[0], size, x)
	}
	m, err := f.mover(ctx, s, size)
	if err != nil {
		return nil, err
	}
	return newStream(m, len(s.to)+len(s.tagged), size, f.depth).run(ctx, x)
}

// mover returns the mover for the kind of request that the command sends.
func (f *clientFlags) mover(ctx context.Context, s sender, size int) (mover, error) {
	data := make([]byte, size)
	if s.m != nil {
		return &tagged{m: s.m, to: s.tagged, data: data, o: msg.Options{Ordered: f.ordered}, batch: make([]msg.Completion, batchMost)}, nil
	}
	m := &messages{e: s.e, to: s.to, data: data, batch: make([]ep.Completion, batchMost)}
	switch f.mode {
	case "write":
		m.op = ep.OpWrite
	case "read":
		m.op = ep.OpRead
	default:
		return m, nil
	}
	var err error
	m.at, err = remotes(ctx, s)
	return m, err
}

// together calls f for all senders concurrently, and returns the first error.
func together(senders []sender, f func(sender) (*tally, error)) ([]*tally, error) {
	all, errs := make([]*tally, len(senders)), make([]error, len(senders))
	var wait sync.WaitGroup
	for i, s := range senders {
		wait.Go(func() { all[i], errs[i] = f(s) })
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
