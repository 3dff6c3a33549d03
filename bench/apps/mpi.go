package apps

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/lab/stat"
)

// mpi is the incast of the SRD paper: 48 ranks of Open MPI on four hosts send to one rank. The MPI
// library is Debian's package, with its TCP transport. The MPI program was written for this
// benchmark, because it must sleep in places where Open MPI itself would wait in a busy loop.
var mpi = app{"mpi", "Open MPI, 48 ranks to one", fabric.Spec{HostsA: mpiSenders, HostsB: 1, RateMbit: -1}, (*run).mpi}

//go:embed mpi/incast.c
var incast []byte

//go:embed mpi/agent.sh
var agent []byte

const (
	mpiSenders = 4  // hosts
	mpiEach    = 12 // ranks on each of them
	// mpiPort is the device of leaf B towards the receiving host. All flows share this link.
	mpiPort = "h1"
	// mpiMbit is the port's rate in Mbit/s. It is a tenth of a usual 1 Gbit/s, so that the port is
	// the bottleneck. At 1 Gbit/s, 49 processes, five daemons and all packets would need both
	// processors of a small machine. A round of 64 KB would then take 26 ms, and much of that would
	// be scheduling delay. The table of results shows the processor time next to the completion
	// times.
	mpiMbit = 100
	// mpiQueue and mpiBurst equal the queue size and the burst size of the fabric's links, in
	// bytes. The first windows of 48 flows are almost three times as large as the queue.
	mpiQueue, mpiBurst = 256 << 10, 16 << 10
	// mpiPause lets queues drain between two rounds.
	mpiPause = 500 * time.Millisecond
	// mpiWarm is the number of uncounted rounds of each size, in which ranks connect and touch
	// their memory.
	mpiWarm = 1
	// mpiWait bounds the duration of an MPI run. It is twice the duration of a run in which the
	// port is always full.
	mpiWait = 4 * time.Minute
)

// messages lists the message sizes, and how often each rank sends each size. Open MPI sends 64 KB
// immediately, because its eager limit is 64 KiB. It sends a larger message only after the receiver
// has confirmed that it has room.
var messages = []struct {
	name   string
	size   int
	rounds int
}{
	{"2m", 2_000_000, 10},
	{"64k", 64_000, 20},
}

func (r *run) mpi(c *cluster) ([]value, error) {
	if err := limitPort(c.f); err != nil {
		return nil, err
	}
	program, remote, err := layOut(c)
	if err != nil {
		return nil, err
	}
	hub := c.hosts[mpiSenders]
	words := append([]string{hub.Name, "mpirun.openmpi"}, mpiWords(c, remote, program)...)
	said := &toll{c: c, used: map[int]time.Duration{}, of: map[int]time.Duration{}}
	p, err := hub.StartWith(said, []string{"MPI_FOLDER=" + c.dir}, remote, words...)
	if err != nil {
		return nil, err
	}
	// If mpirun is killed, the processes of the ranks remain in the namespaces. They are ended when
	// the namespaces are removed.
	if err := p.Wait(mpiWait); err != nil {
		return nil, fmt.Errorf("mpirun: %w\n%s", err, p.Log.String())
	}
	values, err := incastValues(&said.said)
	for _, m := range messages {
		values = append(values, value{m.name + "_used", float64(said.used[m.size]) / float64(said.of[m.size])})
	}
	return values, err
}

// limitPort limits the rate of the receiver's port, which all flows share. Links to spines have no
// rate limit.
func limitPort(f *fabric.Fabric) error {
	_, err := f.LeafB.Run("tc", "qdisc", "replace", "dev", mpiPort, "root", "tbf", "rate", fmt.Sprintf("%dmbit", mpiMbit),
		"burst", strconv.Itoa(mpiBurst), "limit", strconv.Itoa(mpiQueue))
	return err
}

// hideAddresses moves all addresses but the first from the network card to the loopback device.
// MPTCP can still use an address of the loopback device. If they stayed on the card, Open MPI would
// expect connections from the last address, and refuse all others.
func hideAddresses(h *fabric.Host) error {
	for _, a := range h.V4[1:] {
		if _, err := h.Run("ip", "addr", "del", a.String()+"/24", "dev", "eth0"); err != nil {
			return err
		}
		if _, err := h.Run("ip", "addr", "add", a.String()+"/32", "dev", "lo"); err != nil {
			return err
		}
	}
	return nil
}

// layOut writes the files for Open MPI to the cluster's folder. The files for Open MPI are the
// program, a script that enters a host's namespace, and the list of hosts.
func layOut(c *cluster) (program, remote string, err error) {
	names := "127.0.0.1 localhost\n"
	for i, h := range c.hosts {
		if err := hideAddresses(h); err != nil {
			return "", "", err
		}
		names += fmt.Sprintln(c.addrs[i], h.Name)
	}
	program, remote = filepath.Join(c.dir, "incast"), filepath.Join(c.dir, "agent")
	err = errors.Join(os.WriteFile(filepath.Join(c.dir, "hosts"), []byte(names), 0o644),
		os.WriteFile(remote, agent, 0o755), os.WriteFile(program+".c", incast, 0o644))
	if err != nil {
		return "", "", err
	}
	if said, err := exec.Command("mpicc.openmpi", "-O2", "-o", program, program+".c").CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("mpicc: %w\n%s", err, said)
	}
	return program, remote, nil
}

// mpiWords returns mpirun's arguments. Rank 0 runs on the receiver, and the other ranks run on the
// senders, in order. Ranks use TCP over the transport's device, and no shared memory.
func mpiWords(c *cluster, remote, program string) []string {
	hosts := []string{c.hosts[mpiSenders].Name + ":1"}
	for _, h := range c.hosts[:mpiSenders] {
		hosts = append(hosts, fmt.Sprintf("%s:%d", h.Name, mpiEach))
	}
	include := "eth0"
	if c.nodes != nil {
		include = netip.PrefixFrom(c.addrs[0], 24).Masked().String()
	}
	words := []string{"--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--map-by", "slot", "--host", strings.Join(hosts, ",")}
	for _, m := range [][2]string{
		{"plm", "rsh"}, {"plm_rsh_agent", remote},
		{"pml", "ob1"}, {"btl", "tcp,self"},
		{"btl_tcp_if_include", include}, {"oob_tcp_if_include", include},
	} {
		words = append(words, "--mca", m[0], m[1])
	}
	words = append(words, c.command(program, strconv.FormatInt(mpiPause.Milliseconds(), 10))...)
	for _, m := range messages {
		words = append(words, strconv.Itoa(m.size), strconv.Itoa(mpiWarm+m.rounds))
	}
	return words
}

// incastIdeal returns the duration of a round if full packets fill the port all the time.
func incastIdeal(size int) time.Duration {
	bits := float64(mpiSenders*mpiEach) * float64(size) * 8
	return time.Duration(bits / (mpiMbit * 1e6 * wireShare) * float64(time.Second))
}

// incastValues reads the results from the MPI program's output.
func incastValues(in io.Reader) (values []value, err error) {
	took := map[int][]time.Duration{}
	idle, of := map[int]float64{}, map[int]float64{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var size, round, a, b int
		word, rest, _ := strings.Cut(lines.Text(), " ")
		if n, err := fmt.Sscan(rest, &size, &round, &a, &b); n != 4 {
			return nil, fmt.Errorf("the incast says %q: %w", lines.Text(), err)
		}
		switch {
		case round < mpiWarm:
		case word == "flow":
			took[size] = append(took[size], time.Duration(b)*time.Microsecond)
		case word == "idle":
			idle[size] += float64(a)
			of[size] += float64(b)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	for _, m := range messages {
		all := took[m.size]
		if want := m.rounds * mpiSenders * mpiEach; len(all) != want || of[m.size] == 0 {
			return nil, errors.New("the incast has not told of all flows")
		}
		ideal := ms(incastIdeal(m.size))
		for _, q := range []struct {
			name string
			of   float64
		}{{"p50", 0.5}, {"p99", 0.99}, {"max", 1}} {
			values = append(values, value{m.name + "_" + q.name + "_over_ideal", ms(stat.Quantile(all, q.of)) / ideal})
		}
		values = append(values, value{m.name + "_idle", idle[m.size] / of[m.size]})
	}
	return values, nil
}
