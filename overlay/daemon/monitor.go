package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/dashboard"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/metrics"
	"github.com/srdtun/srdtun/overlay/order"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/overlay/queue"
	"github.com/srdtun/srdtun/overlay/web"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/udp"
)

// monitor serves the status over HTTP to Prometheus and browsers, if configured. The listeners
// are opened during the setup, because a port below 1024 needs a privilege that the daemon gives
// up later.
type monitor struct {
	log                *eventLog
	running            *runningConfig
	status             *status
	metrics, dashboard net.Listener // nil: not configured
}

func (m *monitor) open() (err error) {
	if m.metrics, err = m.listen("metrics", m.running.cfg().Metrics.Listen); err != nil {
		return err
	}
	m.dashboard, err = m.listen("dashboard", m.running.cfg().Dashboard.Listen)
	return err
}

func (m *monitor) listen(table string, at config.Listen) (l net.Listener, err error) {
	switch {
	case at.IsZero():
		return nil, nil
	case at.Unix != "" && rundir.Reserved(at.Unix):
		err = errReserved
	case at.Unix != "":
		l, err = m.listenUnix(table, at.Unix)
	default:
		l, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at.TCP))
	}
	if err != nil {
		return nil, m.running.cfg().Fault(table, "listen", "%w", notListening(at, err))
	}
	if line := openToAll(table, at, l.Addr().String()); line != "" {
		m.log.tell(events.HostSetting, table, "%s", line)
	}
	return l, nil
}

var errReserved = errors.New("names like that are srdtun's own there")

// notListening explains why nobody can listen at an address.
func notListening(at config.Listen, err error) error {
	if errors.Is(err, unix.EACCES) && at.TCP.IsValid() {
		err = fmt.Errorf("%w; %s", err, udp.PrivilegedPort)
	}
	return fmt.Errorf("nobody can listen there (%w)", err)
}

// listenUnix opens a unix socket that the users of the control socket may use too. If the
// configured group does not exist, the socket works without a group.
func (m *monitor) listenUnix(table, path string) (net.Listener, error) {
	groups, unknown := control.AdmittedGroups()
	l, err := web.ListenUnix(path, groups...)
	if errors.Is(err, rundir.ErrGroups) {
		unknown, err = err, nil
	}
	if err == nil && unknown != nil {
		m.log.tell(events.HostSetting, table, "%s: %s is for this user alone: %v", table, path, unknown)
	}
	return l, err
}

func (m *monitor) close() {
	for _, l := range []net.Listener{m.metrics, m.dashboard} {
		if l != nil {
			l.Close() // for the second time if serve() has closed it
		}
	}
}

// serve handles HTTP requests until ctx ends. A fault of the HTTP server does not end the
// tunnel.
func (m *monitor) serve(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	serve := func(name string, l net.Listener, h http.Handler) {
		all.Go(func() {
			if err := web.Serve(ctx, l, h, m.gaveWay(name)); err != nil {
				m.log.tell(events.Fallback, name, "%s: %v", name, err)
			}
		})
	}
	if l := m.metrics; l != nil {
		h, err := metrics.NewHandler(m.metricsSource())
		if err != nil {
			m.log.tell(events.Fallback, "metrics", "metrics: %v", err)
			return
		}
		serve("metrics", l, ownHost(m.running.cfg().Metrics.Listen, h))
	}
	if l := m.dashboard; l != nil {
		f := dashboard.NewFeed(dashboard.Source{Status: m.versioned, Events: m.log.page, Gone: m.gaveWay("dashboard")})
		all.Go(func() { f.Run(ctx) })
		serve("dashboard", l, dashboard.Handler(f))
	}
}

// gaveWay returns a function that reports a client whose connection was closed to make room for
// another.
func (m *monitor) gaveWay(table string) func(web.Owner) {
	return func(o web.Owner) {
		m.log.tell(events.ReaderGaveWay, table, "%s: all places are taken: one of %s was closed for a new reader", table, o)
	}
}

// ownHost refuses requests to a loopback address if their Host header is a name other than
// localhost. Only a browser deceived by DNS rebinding sends such requests. On an address that is
// not loopback, host names are allowed, because Prometheus may use the host's name.
func ownHost(at config.Listen, h http.Handler) http.Handler {
	if at.TCP.Addr().IsLoopback() {
		return web.Literal(h)
	}
	return h
}

func (m *monitor) metricsSource() metrics.Source {
	return metrics.Source{
		Status: m.versioned, Reasons: m.dropReasons(), PerPath: m.running.cfg().Metrics.PerPath,
		QueueBytes: queue.DefaultLimitBytes, OrderBytes: order.DefaultHeldBytes,
	}
}

// versioned returns the status with the program's version, as `show` prints it.
func (m *monitor) versioned() control.Status {
	st := m.status.show(m.running.peers())
	st.Version = control.Version
	return st
}

// dropReasons returns the names of all drop counters, both of the interface and of peers.
func (m *monitor) dropReasons() (all []string) {
	anybody := &peer{out: outbound{queue: queue.New(queue.Config{})}, in: inbound{reassembler: order.NewReassembler(order.Config{})}}
	c := peerDrops(anybody, &srd.Stats{}).all()
	maps.Copy(c, m.status.dropCounts().all())
	// The first reason of each type means "not dropped", so its name is left out.
	for _, name := range []string{
		srd.Reason(0).String(), srd.EndpointReason(0).String(),
		"device_read_" + packet.Reason(0).String(), "device_write_" + packet.Reason(0).String(),
	} {
		delete(c, name)
	}
	return slices.Sorted(maps.Keys(c))
}
