package main

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// mpi is Open MPI over its TCP transport: twelve ranks on each of four hosts send to one
// rank, behind a port of 1 Gbit/s (SRD paper, section "Incast").
var mpi = app{"mpi", "Open MPI, 48 ranks to one", fabric.Spec{HostsA: mpiHosts, RateMbit: -1}, (*run).mpi}

//go:embed incast/incast.c
var incastSource string

const (
	mpiHosts, mpiRanks = 4, 12
	mpiMbit            = 1000
	// mpiQueue and mpiBurst are the port's: 4 ms, and what its timer needs.
	mpiQueue, mpiBurst = 512 << 10, 32 << 10
	mpiWait            = 5 * time.Minute
	// mpiNice is the priority of the ranks, which ask again and again for what comes, where
	// other clusters have a processor for each: networks do not wait for them.
	mpiNice = "19"
)

// incasts are the messages of each rank.
var incasts = []struct {
	name         string
	size, rounds int
}{
	{"2m", 2_000_000, 8},
	{"64k", 64_000, 20},
}

func (r *run) mpi(c *cluster) (values []value, err error) {
	if _, err := c.f.LeafB.Run("tc", "qdisc", "replace", "dev", "h1", "root", "tbf", "rate", fmt.Sprintf("%dmbit", mpiMbit),
		"burst", strconv.Itoa(mpiBurst), "limit", strconv.Itoa(mpiQueue)); err != nil {
		return nil, err
	}
	program := filepath.Join(c.dir, "incast")
	if err := compile(program); err != nil {
		return nil, err
	}
	if err := c.mpiFiles(); err != nil {
		return nil, err
	}
	for _, x := range incasts {
		took, err := c.incast(program, x.size, x.rounds)
		if err != nil {
			return values, err
		}
		ideal := float64(mpiHosts*mpiRanks*x.size) * 8 / (mpiMbit * 1e6 * wireShare) * 1e3
		for _, q := range []struct {
			name string
			at   float64
		}{{"p50", 0.5}, {"p99", 0.99}, {"max", 1}} {
			values = append(values, value{x.name + "_" + q.name + "_over_ideal", quantile(took, q.at) / ideal})
		}
	}
	return values, nil
}

func compile(program string) error {
	source := program + ".c"
	if err := os.WriteFile(source, []byte(incastSource), 0o644); err != nil {
		return err
	}
	if said, err := exec.Command("mpicc", "-O2", "-o", program, source).CombinedOutput(); err != nil {
		return fmt.Errorf("mpicc: %w\n%s", err, said)
	}
	return nil
}

// mpiFiles writes the list of hosts, the one with rank 0 first, and what stands in for
// ssh: it enters the host's namespace under a name of its own, by which Open MPI tells
// hosts apart.
func (c *cluster) mpiFiles() error {
	var hosts, agent strings.Builder
	last := len(c.hosts) - 1
	fmt.Fprintf(&hosts, "%s slots=1\n", c.addrs[last])
	agent.WriteString("#!/bin/sh\nat=$1; shift\ncase $at in\n")
	for i, h := range c.hosts {
		if i != last {
			fmt.Fprintf(&hosts, "%s slots=%d\n", c.addrs[i], mpiRanks)
		}
		fmt.Fprintf(&agent, "%s) ns=%s ;;\n", c.addrs[i], h.Name)
	}
	agent.WriteString("*) echo \"no host $at\" >&2; exit 1 ;;\nesac\n" +
		"exec ip netns exec \"$ns\" " + strings.Join(append(slices.Clone(c.wrap), "nice", "-n", mpiNice, "unshare"), " ") + " --uts sh -c 'hostname \"$0\"; shift 0; eval \"$1\"' \"$ns\" \"$*\"\n")
	if err := os.WriteFile(filepath.Join(c.dir, "hosts"), []byte(hosts.String()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.dir, "agent"), []byte(agent.String()), 0o755)
}

// incast returns how long each message took, sorted.
func (c *cluster) incast(program string, size, rounds int) (took []time.Duration, err error) {
	last := len(c.hosts) - 1
	set := []string{
		"--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--map-by", "slot", "--hostfile", filepath.Join(c.dir, "hosts"),
		"-np", strconv.Itoa(1 + mpiHosts*mpiRanks),
	}
	for _, kv := range [][2]string{
		{"plm_rsh_agent", filepath.Join(c.dir, "agent")}, {"plm_rsh_no_tree_spawn", "1"}, {"pml", "ob1"}, {"btl", "tcp,self"},
		{"btl_tcp_if_include", c.net.String()}, {"oob_tcp_if_include", c.net.String()},
		{"mpi_yield_when_idle", "1"}, // fewer processors than ranks
	} {
		set = append(set, "--mca", kv[0], kv[1])
	}
	words := append([]string{"--uts", "sh", "-c", `hostname "$0"; exec "$@"`, c.hosts[last].Name, "mpirun"}, set...)
	words = c.command("nice", append([]string{"-n", mpiNice, "unshare"}, append(words, program, strconv.Itoa(size), strconv.Itoa(rounds))...)...)
	var out fabric.Log
	p, err := c.hosts[last].StartWith(&out, []string{"TMPDIR=" + c.dir}, words[0], words[1:]...)
	if err != nil {
		return nil, err
	}
	if err := p.Wait(mpiWait); err != nil {
		return nil, fmt.Errorf("mpirun: %w\n%s\n%s", err, p.Log.String(), out.String())
	}
	for _, f := range strings.Fields(out.String()) {
		us, err := strconv.Atoi(f)
		if err != nil {
			return nil, fmt.Errorf("incast says %q", f)
		}
		took = append(took, time.Duration(us)*time.Microsecond)
	}
	if want := mpiHosts * mpiRanks * rounds; len(took) != want {
		return nil, fmt.Errorf("incast tells of %d messages, want %d", len(took), want)
	}
	slices.Sort(took)
	return took, nil
}
