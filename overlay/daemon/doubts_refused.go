package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/holder"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/netconf"
	"github.com/srdtun/srdtun/overlay/privilege"
	"github.com/srdtun/srdtun/overlay/tundev"
	"github.com/srdtun/srdtun/overlay/web"
	"github.com/srdtun/srdtun/srd/udp"
)

// DoubtRefused returns the reasons why the start of c by this process would fail now, in the words
// of the start. It creates nothing. What another program has is reported by DoubtTaken. If the
// tunnel of c is running, `own` is its process.
func DoubtRefused(c *config.Config, own holder.Process) (all []error) {
	if own.PID != 0 && !own.SameNetwork() {
		return nil
	}
	name := c.Interface.Name
	ofDir := rundir.Foresee(name)
	if ofDir == nil {
		ofDir = netconf.Damaged(name)
	}
	for _, err := range []error{ofDir, tundev.Foresee(name, privilege.Has(unix.CAP_NET_ADMIN))} {
		if err != nil {
			all = append(all, fmt.Errorf("%s: the start would fail now: %w", c.File, err))
		}
	}
	for _, p := range []struct {
		table, key string
		port       uint16
	}{{"interface", "listen_port", c.Interface.ListenPort}, {"paths", "port_range", c.Paths.PortRange[0]}} {
		if err := forbiddenPort(p.port); err != nil {
			all = append(all, c.Doubt(p.table, p.key, "the start would fail now: %v", err))
		}
	}
	for _, m := range listeners(c) {
		if err := cannotListen(c, m.at); err != nil && !(own.PID != 0 && errors.Is(err, web.ErrTaken)) {
			all = append(all, c.Doubt(m.table, "listen", "the start would fail now: %v", notListening(m.at, err)))
		}
	}
	return all
}

// firstFree is the first port that needs no privilege on any host (ip(7)).
const firstFree = 1024

// forbiddenPort returns the error of a port for which this process lacks the right. It does not
// bind a port that it may have.
func forbiddenPort(port uint16) error {
	if port == 0 || port >= firstFree || privilege.Has(unix.CAP_NET_BIND_SERVICE) {
		return nil
	}
	l, err := net.ListenUDP("udp4", &net.UDPAddr{Port: int(port)})
	if err == nil {
		return l.Close() // net.ipv4.ip_unprivileged_port_start allows it
	}
	if !errors.Is(err, unix.EACCES) {
		return nil
	}
	return &udp.PortError{Port: port, Err: unix.EACCES}
}

// cannotListen returns the error with which the start could not listen at an address of this host.
// An address of the tunnel does not exist before the start.
func cannotListen(c *config.Config, at config.Listen) error {
	switch {
	case at.IsZero():
		return nil
	case at.Unix != "" && rundir.Reserved(at.Unix):
		return errReserved
	case at.Unix != "":
		err := web.CheckUnix(at.Unix)
		if errors.Is(err, fs.ErrNotExist) && within(filepath.Dir(at.Unix)) {
			return nil // the start, or the service manager, creates the directory
		}
		return cmp.Or(err, rundir.Writable(at.Unix))
	}
	err := bindTCP(at.TCP)
	if slices.ContainsFunc(c.Interface.Address, func(p netip.Prefix) bool { return p.Addr() == at.TCP.Addr() }) && errors.Is(err, unix.EADDRNOTAVAIL) ||
		errors.Is(err, unix.EADDRINUSE) {
		return nil
	}
	return err
}

// within reports whether a directory is the run directory, or that of a service in it.
func within(dir string) bool { return dir == rundir.Dir() || filepath.Dir(dir) == rundir.Dir() }

// bindTCP binds a socket for a moment, without listening, and returns the error of net.ListenTCP.
func bindTCP(at netip.AddrPort) error {
	family, to := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()})
	if at.Addr().Is4() {
		family, to = unix.AF_INET, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
	}
	fail := func(call string, err error) error {
		return &net.OpError{Op: "listen", Net: "tcp", Addr: net.TCPAddrFromAddrPort(at), Err: os.NewSyscallError(call, err)}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fail("socket", err)
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return fail("setsockopt", err)
	}
	if err := unix.Bind(fd, to); err != nil {
		return fail("bind", err)
	}
	return nil
}
