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
)

func (mo *monitor) open() (err error) {
	m := mo
	if m.metrics, err = mo.listen("metrics", mo.running.cfg().Metrics.Listen); err != nil {
		return err
	}
	m.dashboard, err = mo.listen("dashboard", mo.running.cfg().Dashboard.Listen)
	return err
}

// listen opens the listener of a table of the file.
func (mo *monitor) listen(table string, at config.Listen) (l net.Listener, err error) {
	switch {
	case at.IsZero():
		return nil, nil
	case at.Unix != "" && rundir.Reserved(at.Unix):
		err = errors.New("names like that are srdtun's own there")
	case at.Unix != "":
		l, err = mo.listenUnix(table, at.Unix)
	default:
		l, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at.TCP))
	}
	if err != nil {
		if errors.Is(err, unix.EACCES) && at.TCP.IsValid() {
			err = fmt.Errorf("%w; a port below 1024 needs root or CAP_NET_BIND_SERVICE", err)
		}
		return nil, mo.running.cfg().Fault(table, "listen", "nobody can listen there (%w)", err)
	}
	if at.TCP.IsValid() && !at.TCP.Addr().IsLoopback() {
		mo.log.tell(events.HostSetting, table, "%s: whoever can reach %v sees it: it has no password", table, l.Addr())
	}
	return l, nil
}

// listenUnix lets those in who may use the control socket. Without their group it listens all
// the same.
func (mo *monitor) listenUnix(table, path string) (net.Listener, error) {
	groups, unknown := control.AdmittedGroups()
	l, err := web.ListenUnix(path, groups...)
	if errors.Is(err, rundir.ErrGroups) {
		unknown, err = err, nil
	}
	if err == nil && unknown != nil {
		mo.log.tell(events.HostSetting, table, "%s: %s is for this user alone: %v", table, path, unknown)
	}
	return l, err
}

func (m *monitor) close() {
	for _, l := range []net.Listener{m.metrics, m.dashboard} {
		if l != nil {
			l.Close() // again, if it was served
		}
	}
}

// serve answers until ctx ends. A tunnel does not end because nobody can look.
func (mo *monitor) serve(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	serve := func(name string, l net.Listener, h http.Handler) {
		all.Go(func() {
			if err := web.Serve(ctx, l, h, mo.gaveWay(name)); err != nil {
				mo.log.tell(events.Fallback, name, "%s: %v", name, err)
			}
		})
	}
	if l := mo.metrics; l != nil {
		h, err := metrics.NewHandler(mo.metricsSource())
		if err != nil {
			mo.log.tell(events.Fallback, "metrics", "metrics: %v", err)
			return
		}
		serve("metrics", l, ownHost(mo.running.cfg().Metrics.Listen, h))
	}
	if l := mo.dashboard; l != nil {
		f := dashboard.NewFeed(dashboard.Source{Status: mo.versioned, Events: mo.log.page, Gone: mo.gaveWay("dashboard")})
		all.Go(func() { f.Run(ctx) })
		serve("dashboard", l, dashboard.Handler(f))
	}
}

// gaveWay tells that a reader had to make room for another one.
func (mo *monitor) gaveWay(table string) func(web.Owner) {
	return func(o web.Owner) {
		mo.log.tell(events.ReaderGaveWay, table, "%s: all places are taken: one of %s was closed for a new reader", table, o)
	}
}

// ownHost refuses names on loopback, which only a browser that was deceived has for it.
// Elsewhere Prometheus comes by the host's name.
func ownHost(at config.Listen, h http.Handler) http.Handler {
	if at.TCP.Addr().IsLoopback() {
		return web.Literal(h)
	}
	return h
}

func (mo *monitor) metricsSource() metrics.Source {
	return metrics.Source{
		Status: mo.versioned, Reasons: mo.dropReasons(), PerPath: mo.running.cfg().Metrics.PerPath,
		QueueBytes: queue.DefaultLimitBytes, OrderBytes: order.DefaultHeldBytes,
	}
}

// versioned is the status as `show` has it.
func (mo *monitor) versioned() control.Status {
	st := mo.status.show()
	st.Version = control.Version
	return st
}

// dropReasons are the names of all drop counters, of the interface and of peers.
func (mo *monitor) dropReasons() (all []string) {
	anybody := &peer{out: outbound{queue: queue.New(queue.Config{})}, in: inbound{reassembler: order.NewReassembler(order.Config{})}}
	c := peerDrops(anybody, &srd.Stats{})
	maps.Copy(c, mo.status.dropCounts())
	// Each kind of reasons begins with the one for what is not dropped.
	for _, name := range []string{
		srd.Reason(0).String(), srd.EndpointReason(0).String(),
		"device_read_" + packet.Reason(0).String(), "device_write_" + packet.Reason(0).String(),
	} {
		delete(c, name)
	}
	return slices.Sorted(maps.Keys(c))
}
