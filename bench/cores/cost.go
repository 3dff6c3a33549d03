package cores

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/tunnel"
	"github.com/srdtun/srdtun/overlay/control"
)

// cost holds counters of the work that daemons do for their peers.
type cost struct {
	trains         uint64 // number of trains, received and built
	cpu            time.Duration
	locked, writes time.Duration // time of waiting for the peer's lock, and for a turn to write to the device
}

func (c cost) since(old cost) cost {
	return cost{c.trains - old.trains, c.cpu - old.cpu, c.locked - old.locked, c.writes - old.writes}
}

func (c cost) String() string {
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(max(1, c.trains)) }
	share := float64(c.locked) / float64(max(1, c.cpu))
	return fmt.Sprintf("%.1f us, %.2f (%.3f), %.2f", us(c.cpu), us(c.locked), share, us(c.writes))
}

// lookAll adds up the counters of several daemons.
func lookAll(nodes []*tunnel.Node) (sum cost, err error) {
	for _, n := range nodes {
		c, e := look(n)
		sum = cost{sum.trains + c.trains, sum.cpu + c.cpu, sum.locked + c.locked, sum.writes + c.writes}
		err = errors.Join(err, e)
	}
	return sum, err
}

// look reads a daemon's counters since its start.
func look(n *tunnel.Node) (c cost, err error) {
	text, err := n.Show()
	if err != nil {
		return c, err
	}
	var st control.Status
	if err := json.Unmarshal(text, &st); err != nil {
		return c, err
	}
	for i := range st.Peers {
		c.trains += st.Peers[i].RxTrains + st.Peers[i].TxTrains
	}
	u, err := n.Usage()
	if err != nil {
		return c, err
	}
	c.cpu = u.CPU
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", n.ProfileSocket())
	}}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://daemon/debug/pprof/mutex?debug=1")
	if err != nil {
		return c, err
	}
	defer resp.Body.Close()
	return c, c.waits(resp.Body)
}

// waits adds up the lock waits in a mutex profile. Each record of a profile begins with a line
// "CYCLES COUNT @ ADDRESSES". A line for each function on the stack of the lock's holder follows.
func (c *cost) waits(r io.Reader) error {
	var perSecond, cycles int64
	var where *time.Duration // sum for the current record, once a function has shown which lock it is
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		var count int64
		switch {
		case strings.HasPrefix(line, "cycles/second="):
			if _, err := fmt.Sscanf(line, "cycles/second=%d", &perSecond); err != nil {
				return fmt.Errorf("profile of locks: %q", line)
			}
			continue
		case !strings.HasPrefix(line, "#"):
			where = nil
			if _, err := fmt.Sscanf(line, "%d %d @", &cycles, &count); err != nil {
				cycles = 0
			}
			continue
		case where != nil:
			continue
		case strings.Contains(line, "/srd/loop.(*Outlet)."):
			where = &c.writes
		case strings.Contains(line, "/srd/loop.(*lane)."):
			where = new(time.Duration) // the lock of a lane, for which a sender does not wait; not counted
		case strings.Contains(line, "/srd/loop.(*Peer).") || strings.Contains(line, "/srd/loop.(*worker)."):
			where = &c.locked
		}
		if where != nil && perSecond > 0 {
			*where += time.Duration(float64(cycles) / float64(perSecond) * float64(time.Second))
		}
	}
	return lines.Err()
}
