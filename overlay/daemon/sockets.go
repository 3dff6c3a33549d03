package daemon

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/udp"
	"golang.org/x/sys/unix"
)

// sockets has the UDP sockets that all peers share.
type sockets struct {
	log     *eventLog
	running *runningConfig
	bank    *udp.Bank
	mark    atomic.Uint32 // mark (SO_MARK) of the outer packets
	mu      sync.Mutex    // guards changes of the mark, and opening sockets
	closed  bool          // no further socket is opened; guarded by mu
}

func (s *sockets) open(mark uint32) (err error) {
	c := s.running.cfg()
	s.bank, err = udp.Open(s.config(mark))
	var few *udp.RangeError
	var port *udp.PortError
	switch {
	case errors.As(err, &few):
		return c.Fault("paths", "port_range", "other processes have the ports (%v)", err)
	case errors.Is(err, unix.EADDRINUSE):
		return c.Fault("interface", "listen_port", "another process has the port (%v)", err)
	case errors.As(err, &port) && port.Port == c.Interface.ListenPort && port.Port != 0:
		return c.Fault("interface", "listen_port", "%w", err)
	case errors.As(err, &port) && port.Port != 0:
		return c.Fault("paths", "port_range", "%w", err)
	case err != nil:
		return err
	}
	s.tellIPv6()
	return nil
}

func (s *sockets) config(mark uint32) udp.Config {
	c := s.running.cfg()
	return udp.Config{ListenPort: c.Interface.ListenPort, Ports: c.Paths.SourcePorts, Range: c.Paths.PortRange, Mark: mark}
}

// local returns the local address and port of tuple t as text.
func (s *sockets) local(t srd.Tuple) string {
	return netip.AddrPortFrom(t.Local.Addr(), s.bank.Socket(int(t.Sock)).Port).String()
}
