package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// startServer runs `srdperf serve` until the test ends, and returns the line that it prints.
func startServer(t *testing.T, args ...string) (line string, note *bytes.Buffer, stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	note = new(bytes.Buffer)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if code := run(ctx, append([]string{"serve", "--local", "127.0.0.1", "--size", "64K"}, args...), out, note); code != 0 {
			t.Errorf("serve: exit code %d: %s", code, note)
		}
		out.Close()
	}()
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return strings.TrimSpace(line), note, stop
}

// call runs a command that must succeed, and returns its output.
func call(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, fault bytes.Buffer
	if code := run(ctx, args, &out, &fault); code != 0 || fault.Len() > 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, fault.String())
	}
	return out.String()
}

// rows runs a command with --json, and returns its results.
func rows(t *testing.T, args ...string) (v []result) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(call(t, append(args, "--json")...)))
	d.DisallowUnknownFields()
	for {
		var r result
		if err := d.Decode(&r); err == io.EOF {
			return v
		} else if err != nil {
			t.Fatal(err)
		}
		v = append(v, r)
	}
}

func TestCommandsCountWhatTheyMeasure(t *testing.T) {
	first, note, stop := startServer(t)
	second, _, _ := startServer(t, "--clients-of", first)
	for _, x := range []struct {
		args     string
		sizes    []int
		flows    int
		messages uint64
	}{
		{"pingpong --size 0,64,4K", []int{0, 64, 4 << 10}, 1, 50},
		{"bandwidth --size 1K,64K", []int{1 << 10, 64 << 10}, 1, 50},
		{"rate", []int{64}, 1, 50},
		{"incast --senders 3", []int{64 << 10}, 3, 150},
		{"many " + second, []int{64 << 10}, 2, 100},
		{"write --size 0,64K", []int{0, 64 << 10}, 1, 50},
		{"read --size 0,64K", []int{0, 64 << 10}, 1, 50},
	} {
		args := strings.Fields(x.args)
		mode, rest := args[0], args[1:]
		v := rows(t, slices.Concat([]string{mode, first}, rest, []string{"--iters", "50", "--warmup", "5"})...)
		if len(v) != len(x.sizes) {
			t.Fatalf("%s: %d rows, want %d", x.args, len(v), len(x.sizes))
		}
		for i, r := range v {
			n := uint64(0)
			for _, b := range r.Histogram {
				n += b.Count
			}
			if r.Mode != mode || r.Size != x.sizes[i] || r.Flows != x.flows || r.Messages != x.messages || n != x.messages || r.Bytes != x.messages*uint64(r.Size) {
				t.Errorf("%s: %+v", x.args, r)
			}
			if l := r.Latency; l.Min <= 0 || l.Min > l.P50 || l.P50 > l.P99 || l.P99 > l.P999 || l.P999 > l.Max || r.Seconds <= 0 || r.Interrupted {
				t.Errorf("%s: %+v", x.args, r)
			}
		}
	}
	stop()
	if !strings.Contains(note.String(), " 165 echoes; 3 clients") {
		t.Errorf("the server says %q", note.String())
	}
}

func TestTaggedMessages(t *testing.T) {
	line, note, stop := startServer(t, "--tagged")
	for _, order := range []string{"", "--ordered"} {
		args := []string{"tagged", line, "--iters", "50", "--warmup", "5", "--size", "64,64K"}
		if order != "" {
			args = append(args, order)
		}
		for i, r := range rows(t, args...) {
			if r.Mode != "tagged" || r.Size != []int{64, 64 << 10}[i] || r.Messages != 50 || r.Flows != 1 {
				t.Errorf("%+v", r)
			}
		}
	}
	stop()
	if want := "220 messages, 7216000 bytes, 0 longer"; !strings.Contains(note.String(), want) {
		t.Errorf("the server says %q, want %s", note.String(), want)
	}
}

func TestTable(t *testing.T) {
	line, _, _ := startServer(t)
	out := call(t, "pingpong", line, "--iters", "20", "--size", "64,1K", "--histogram")
	for _, want := range []string{"bytes", "p99.9", "\n         64         20 ", "\n       1024         20 ", "#####"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if n := strings.Count(out, "messages/s"); n != 1 {
		t.Errorf("%d headings in\n%s", n, out)
	}
}

// After an interrupt, the command prints the results so far.
func TestInterrupt(t *testing.T) {
	line, _, _ := startServer(t)
	for _, mode := range []string{"pingpong", "rate"} {
		ctx, cancel := context.WithCancel(t.Context())
		var out, fault bytes.Buffer
		time.AfterFunc(300*time.Millisecond, cancel)
		if code := run(ctx, []string{mode, line, "--iters", "100000000", "--json"}, &out, &fault); code != 0 || fault.Len() > 0 {
			t.Fatalf("%s: exit code %d: %s", mode, code, fault.String())
		}
		var r result
		if err := json.Unmarshal(out.Bytes(), &r); err != nil || !r.Interrupted {
			t.Errorf("%s: %v, %s", mode, err, out.String())
		}
	}
}

func TestFaultsAreOneLine(t *testing.T) {
	line, _, _ := startServer(t)
	for _, x := range []struct {
		args string
		code int
		want string
	}{
		{"bandwith", exitUsage, "unknown command"},
		{"serve --receives 0", exitUsage, "--receives 0 is not between"},
		{"serve --clients-of x", exitUsage, "is not KEY@ADDR"},
		{"rate", exitUsage, "usage: srdperf rate KEY@ADDR"},
		{"rate 127.0.0.1:7", exitUsage, "is not KEY@ADDR"},
		{"rate KEY@127.0.0.1:7", exitUsage, "a key is 44 characters"},
		{"rate " + line + ",x", exitUsage, `"x" is not an address with a port`},
		{"rate " + line + " --size 9M", exitUsage, "--size 9M"},
		{"rate " + line + " --size -1", exitUsage, "--size -1"},
		{"rate " + line + " --depth 0", exitUsage, "--depth 0 is not between"},
		{"incast " + line + " --senders 65", exitUsage, "--senders 65 is not between"},
		{"rate " + line + " --local x", exitUsage, "--local x"},
		{"write " + line + " --size 65K --iters 1", exitFailure, "start srdperf serve with --size 66560"},
		{"read " + line + " --size 65K --iters 1", exitFailure, "start srdperf serve with --size 66560"},
		{"tagged " + line + " --iters 1", exitFailure, "srdperf tagged needs serve --tagged"},
		{"rate " + line + " --size 65K --iters 1", exitFailure, "start srdperf serve with --size 66560"},
	} {
		var out, fault bytes.Buffer
		code := run(t.Context(), strings.Fields(x.args), &out, &fault)
		text := fault.String()
		if code != x.code || !strings.Contains(text, x.want) || strings.Count(text, "\n") != 1 || out.Len() > 0 {
			t.Errorf("srdperf %s: exit code %d, %q %q", x.args, code, text, out.String())
		}
	}
}

// Quantiles of the histogram differ from those of a sorted list by less than the width of a bucket.
func TestHistogram(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var h, other histogram
	var all []time.Duration
	for i := range 10_000 {
		d := time.Duration(random.Int64N(1 << (1 + random.IntN(40))))
		all = append(all, d)
		if i%3 == 0 {
			other.add(d)
		} else {
			h.add(d)
		}
	}
	h.merge(&other)
	slices.Sort(all)
	for _, q := range []float64{0, .1, .5, .9, .99, .9999} {
		got, want := h.quantile(q), all[int(q*float64(len(all)))]
		if got < want || float64(got) > float64(want)*(1+1./steps) {
			t.Errorf("quantile %v: %d, want %d", q, got, want)
		}
	}
	if h.n != uint64(len(all)) || h.min != all[0] || h.max != all[len(all)-1] {
		t.Errorf("n %d, min %d, max %d", h.n, h.min, h.max)
	}
	for v := range len(h.counts) - 1 {
		if _, to := bounds(v); to > 0 && bucketOf(uint64(to)) != v+1 {
			t.Fatalf("bucket %d ends at %d", v, to)
		}
	}
}
