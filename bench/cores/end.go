package cores

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/srdtun/srdtun/e2e/tunnel"
	"github.com/srdtun/srdtun/overlay/control"
)

// end is the work of one end's daemon for its only peer.
type end struct {
	what string
	node *tunnel.Node
	cpu  time.Duration
	did  control.Serial
}

// look reads a daemon's counts so far.
func look(what string, n *tunnel.Node) (*end, error) {
	text, err := n.Show()
	if err != nil {
		return nil, err
	}
	var st control.Status
	if err := json.Unmarshal(text, &st); err != nil {
		return nil, err
	}
	if len(st.Peers) != 1 {
		return nil, fmt.Errorf("%s has %d peers, want 1", n.Name, len(st.Peers))
	}
	u, err := n.Usage()
	if err != nil {
		return nil, err
	}
	return &end{what: what, node: n, cpu: u.CPU, did: st.Peers[0].Serial}, nil
}

// since turns e into the work since e was read.
func (e *end) since() error {
	now, err := look(e.what, e.node)
	if err != nil {
		return err
	}
	e.cpu = now.cpu - e.cpu
	e.did.RxTrains, e.did.TxTrains = now.did.RxTrains-e.did.RxTrains, now.did.TxTrains-e.did.TxTrains
	less(&e.did.Lock, &now.did.Lock)
	less(&e.did.Flush, &now.did.Flush)
	if e.trains() == 0 {
		return fmt.Errorf("%s: no trains", e.node.Name)
	}
	return nil
}

func less(g, now *control.Gate) {
	g.Taken, g.Waits = now.Taken-g.Taken, now.Waits-g.Waits
	g.WaitedUs, g.HeldUs = now.WaitedUs-g.WaitedUs, now.HeldUs-g.HeldUs
	g.WorkUs = now.WorkUs - g.WorkUs
}

// trains counts the direction of the data. The few trains of the other direction belong to
// them.
func (e *end) trains() float64 {
	if e.what == "sends" {
		return float64(e.did.TxTrains)
	}
	return float64(e.did.RxTrains)
}

// each returns the work for one train if flows are spread evenly over so many outlets.
func (e *end) each(outlets int) work {
	n := e.trains()
	per := func(us float64) time.Duration { return time.Duration(us / n * float64(time.Microsecond)) }
	lock, flush := per(float64(e.did.Lock.WorkUs)), per(float64(e.did.Flush.WorkUs))
	all := per(float64(e.cpu.Microseconds()))
	stations := []time.Duration{lock}
	for range outlets {
		stations = append(stations, flush/time.Duration(outlets))
	}
	return work{free: max(0, all-lock-flush), stations: stations}
}

// heading is the heading of the lines of ends.
const heading = `       trains/s  us of a train: all  in lock  in flush |  locks   waits  us waited | cores reckoned: 2      4      8`

// line tells of an end, with the model for so many outlets.
func (e *end) line(outlets int) string {
	w, n := e.each(outlets), e.trains()
	lock, flush := float64(e.did.Lock.WorkUs)/n, float64(e.did.Flush.WorkUs)/n
	return fmt.Sprintf("%s %9.0f %19.1f %8.2f %9.2f | %6.2f %7.4f %10.2f | %17.2f %6.2f %6.2f", e.what, n/e.cpu.Seconds(),
		float64(e.cpu.Microseconds())/n, lock, flush, float64(e.did.Lock.Taken)/n, float64(e.did.Lock.Waits)/n,
		float64(e.did.Lock.WaitedUs)/n, w.speedup(2), w.speedup(4), w.speedup(8))
}
