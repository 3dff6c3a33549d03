package drill

import (
	"fmt"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// The constants bound the recovery times of the drills in this file.
const (
	maxRestart = 2 * time.Second // WireGuard takes some 15 s
	maxMove    = time.Second     // a person notices more
	maxHealed  = 2 * time.Second
)

// longWait bounds the wait for a recovery.
const longWait = 30 * time.Second

// load starts a heartbeat, and a TCP flow from A to B of the given duration.
func (r *run) load(a, b *fabric.Host, lasts time.Duration) (*meter.Run, *meter.Heartbeat, error) {
	beat, err := meter.StartHeartbeat(a, b, tunnel.Inner4(1), tunnel.Inner4(2))
	if err != nil {
		return nil, nil, err
	}
	r.later(func() error { beat.Close(); return nil })
	flow, err := meter.Start(meter.Flow{Client: a, Server: b, To: tunnel.Inner4(2), For: lasts})
	if err != nil {
		return nil, nil, err
	}
	r.later(func() error { flow.Stop(); return nil })
	time.Sleep(2 * time.Second)
	_, err = beat.AnswerAfter(time.Now(), 2*time.Second)
	return flow, beat, err
}

// answer returns the time after from until traffic passes in both directions again.
func answer(beat *meter.Heartbeat, from time.Time) time.Duration {
	took, err := beat.AnswerAfter(from, longWait)
	if err != nil {
		return never
	}
	return took
}

// survives adds a row that says whether a TCP connection survived.
func (r *run) survives(flow *meter.Run) {
	got := "lives"
	if flow.Wait() != nil {
		got = "ended"
	}
	r.is("the TCP connection through the tunnel", "lives", got)
}

// kill kills the daemon that has no endpoint of its peer, so the other daemon must start the next
// handshake.
func kill(r *run) error {
	f, err := r.fabric(fabric.Spec{})
	if err != nil {
		return err
	}
	p, err := r.passive(f.A(1), f.B(1))
	if err != nil {
		return err
	}
	flow, beat, err := r.load(f.A(1), f.B(1), 10*time.Second)
	if err != nil {
		return err
	}
	p.B.Kill()
	killed := time.Now()
	if err := p.B.Start(); err != nil {
		return err
	}
	r.within("traffic both ways after the kill", answer(beat, killed), maxRestart)
	r.survives(flow)
	return nil
}

// move changes the address of the end without endpoints, and then of the other end.
func move(r *run) error {
	d, err := r.direct()
	if err != nil {
		return err
	}
	if _, err = r.passive(d.A, d.B); err != nil {
		return err
	}
	flow, beat, err := r.load(d.A, d.B, 11*time.Second)
	if err != nil {
		return err
	}
	for _, m := range []struct {
		what     string
		host     *fabric.Host
		from, to string
	}{
		{"the end without endpoints has another address", d.B, "10.1.1.2", "10.1.1.82"},
		{"the other end has another address", d.A, "10.1.1.1", "10.1.1.81"},
		{"the end without endpoints has its old address", d.B, "10.1.1.82", "10.1.1.2"},
		{"the end without endpoints again", d.B, "10.1.1.2", "10.1.1.83"},
	} {
		if _, err := m.host.Run("sh", "-c", fmt.Sprintf("ip addr del %s/24 dev eth0; ip addr add %s/24 dev eth0", m.from, m.to)); err != nil {
			return err
		}
		r.within(m.what, answer(beat, time.Now()), maxMove)
		time.Sleep(time.Second)
	}
	r.survives(flow)
	return nil
}

// dead makes the network drop all packets on all paths.
func dead(r *run) error {
	f, err := r.fabric(fabric.Spec{})
	if err != nil {
		return err
	}
	if _, err := r.passive(f.A(1), f.B(1)); err != nil {
		return err
	}
	outage := r.pick(5*time.Second, 30*time.Second)
	_, beat, err := r.load(f.A(1), f.B(1), outage+10*time.Second)
	if err != nil {
		return err
	}
	for n := range f.Spines {
		if err := f.Break(n + 1); err != nil {
			return err
		}
	}
	time.Sleep(outage)
	if err := f.Heal(); err != nil {
		return err
	}
	r.within(fmt.Sprintf("traffic both ways after %v without", outage), answer(beat, time.Now()), maxHealed)
	return nil
}
