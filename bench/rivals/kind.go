package rivals

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// kind describes one of the compared tunnels or transports.
type kind struct {
	name, title string
	// start sets up the tunnel or transport between the hosts of a site.
	start func(*bench, *site) (*link, error)
}

// link is a running tunnel or transport between two hosts. Measured traffic goes from host A to the
// address in the field to.
type link struct {
	to   netip.Addr
	dev  string   // the device of B on which the traffic arrives
	pids []int    // processes of its daemons
	wrap []string // prefix of the command line of programs that use the link
	perf *perf    // the servers of srdperf; nil: there are none
	echo bool     // requests are sent as single datagrams
	// close ends the link's daemons, and is nil if there are no daemons.
	close func() error
}

// tunnelWait bounds the time from the start of the daemons to the first ping reply.
const tunnelWait = 20 * time.Second

// stopWait bounds the time that a daemon may take to end.
const stopWait = 5 * time.Second

// reach waits until the address answers pings.
func reach(from *fabric.Host, to netip.Addr) error {
	var err error
	for deadline := time.Now().Add(tunnelWait); time.Now().Before(deadline); {
		if _, err = from.Run("ping", "-n", "-q", "-c1", "-W1", to.String()); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("%s does not reach %s: %w", from.Name, to, err)
}

// innerA and innerB are the addresses of hosts A and B inside every tunnel, from package tunnel.
var innerA, innerB = tunnel.Inner4(1), tunnel.Inner4(2)
