package apps

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// MPTCP opens a subflow for each address of a host, so it needs several addresses to use several
// paths.
const (
	spines     = 4
	rateMbit   = 100
	mptcpAddrs = 4
)

// kind is a transport between the hosts, such as plain TCP or a tunnel.
type kind struct {
	name, title string
	addrs       int // number of addresses of each host
	start       func(r *run, c *cluster) error
}

var kinds = []kind{
	{"tcp", "plain TCP", 1, startPlain},
	{"mptcp", "kernel MPTCP", mptcpAddrs, startMPTCP},
	{"srdtun", "srdtun", 1, startTunnel},
}

// cluster is a set of hosts that reach each other over one kind of transport.
type cluster struct {
	kind  kind
	f     *fabric.Fabric
	hosts []*fabric.Host
	addrs []netip.Addr // addresses of the hosts, for applications
	// wrap is the prefix of an application's command line, such as "mptcpize run".
	wrap  []string
	nodes []*tunnel.Node
	dir   string // folder of this cluster
}

// newCluster builds the network of a cluster. The list of hosts has the hosts of leaf A first, then
// those of leaf B.
func newCluster(r *run, spec fabric.Spec, k kind) (*cluster, error) {
	spec.Spines, spec.Addrs = spines, k.addrs
	if spec.RateMbit == 0 {
		spec.RateMbit = rateMbit
	}
	f, err := fabric.New(spec)
	if err != nil {
		return nil, err
	}
	c := &cluster{kind: k, f: f, dir: filepath.Join(r.dir, k.name)}
	for i := range f.Spec.HostsA {
		c.hosts = append(c.hosts, f.A(i+1))
	}
	for i := range f.Spec.HostsB {
		c.hosts = append(c.hosts, f.B(i+1))
	}
	err = os.RemoveAll(c.dir)
	if err == nil {
		err = os.MkdirAll(c.dir, 0o755)
	}
	if err == nil {
		err = k.start(r, c)
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *cluster) close() error {
	var all []error
	for _, n := range c.nodes {
		all = append(all, n.Close())
	}
	return errors.Join(append(all, c.f.Close())...)
}

// command returns an application's command line with the wrapper that this transport needs.
func (c *cluster) command(name string, args ...string) []string {
	return append(append(append([]string(nil), c.wrap...), name), args...)
}

func (c *cluster) start(i int, name string, args ...string) (*fabric.Process, error) {
	words := c.command(name, args...)
	return c.hosts[i].Start(words[0], words[1:]...)
}

// multipath reports whether the sockets of this program use MPTCP over this transport.
func (c *cluster) multipath() bool { return c.wrap != nil }

func startPlain(_ *run, c *cluster) error {
	for _, h := range c.hosts {
		c.addrs = append(c.addrs, h.Addr4())
	}
	return nil
}

// startMPTCP configures all addresses of each host in the kernel's MPTCP. Each address makes a
// subflow to the peer's first and second address, so ECMP hashes eight 5-tuples.
func startMPTCP(r *run, c *cluster) error {
	c.wrap = []string{"mptcpize", "run"}
	for _, h := range c.hosts {
		if err := h.EnableMPTCP(h.V4[1:2], h.V4[2:]); err != nil {
			return err
		}
	}
	return startPlain(r, c)
}

func startTunnel(r *run, c *cluster) (err error) {
	for i := range c.hosts {
		c.addrs = append(c.addrs, tunnel.Inner4(i+1))
	}
	c.nodes, err = tunnel.NewMesh(r.srdtun, c.hosts...)
	return err
}

// stopWait is the time that an application has to end after SIGINT.
const stopWait = 5 * time.Second

// ends holds the running applications that must be ended after the measurement.
type ends []*fabric.Process

// stop sends SIGINT to the applications, the newest first. On SIGINT, PostgreSQL ends without
// waiting for its clients. An application that ignores SIGINT gets SIGKILL. The exit codes are
// ignored, because they only show that a signal ended the application.
func (e ends) stop() {
	for i := len(e) - 1; i >= 0; i-- {
		e[i].Signal(syscall.SIGINT)
		_ = e[i].Wait(stopWait)
	}
}
