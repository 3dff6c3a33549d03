package lab

import (
	"fmt"
	"time"

	"github.com/srdtun/srdtun/srd"
)

// RestartPlan describes a program that ends properly, and starts again after a pause. During the
// pause the program's sockets and device remain, with the packets in them. systemd does the same
// for the daemon.
type RestartPlan struct {
	Host int      `toml:"host"`
	At   Duration `toml:"at"`
	For  Duration `toml:"for"` // pause until the next program runs
}

// restarter is a Transport whose programs can be restarted.
type restarter interface {
	restart(host int, pause time.Duration)
}

// plantRestarts schedules all restarts of programs.
func (r *run) plantRestarts() error {
	for _, x := range r.c.Restarts {
		if x.Host < 0 || x.Host >= len(r.net.Hosts) {
			return fmt.Errorf("restart of host %d of %d", x.Host, len(r.net.Hosts))
		}
		for _, name := range r.names {
			if t, ok := r.byName[name].(restarter); ok {
				r.engine.After(x.At.Duration, func() { t.restart(x.Host, x.For.Duration) })
			}
		}
	}
	return nil
}

// restart ends the program of a host, and starts a new program after a pause.
func (t *SRD) restart(host int, pause time.Duration) {
	h := t.hosts[host]
	if h == nil || h.process == nil {
		return
	}
	h.process.stop()
	t.net.Engine.After(pause, h.reboot)
}

// stop closes the program's sessions and ends the program.
func (p *process) stop() {
	now := p.host.engine.Now()
	p.stopped = true
	for _, e := range p.host.ends {
		p.train.Buf = p.train.Buf[:0]
		if e.conn.Close(now, p.train) {
			p.transmit()
		}
		e.app.ended(now)
		p.host.done.add(e.conn.Stats())
	}
}

// reboot starts the new program of a host, with new connections.
func (h *srdHost) reboot() {
	now := h.engine.Now()
	h.index = map[uint32]*srdIndex{}
	h.end = newEndpoint(h.id, random{h.srd.rng})
	for _, e := range h.ends {
		cfg, err := h.config(e.remote)
		if err != nil {
			panic("lab: " + err.Error()) // cannot happen, because the same configuration was valid before
		}
		e.conn, e.control = newConn(cfg), cfg.Control.(*coreControl)
		h.end.Add(e.conn)
		e.conn.SetTuples(now, e.tuples())
		e.conn.Connect(now)
	}
	p := h.process
	p.stopped, p.awake, p.touched, p.serve, p.taken = false, false, nil, 0, 0
	for _, e := range h.ends {
		e.touched, e.trains = false, 0
		p.touch(e)
	}
	p.wake(0)
}

// add adds the counters of a connection.
func (s *Stats) add(c *srd.Stats) {
	s.Packets += c.Sent + c.Retransmitted
	s.Retransmitted += c.Retransmitted
	s.Spurious += c.Spurious
	s.Acks += c.Acks
	s.Timeouts += c.GivenUp
}
