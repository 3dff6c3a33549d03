package fabric

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
)

// warmTries bounds the number of pings to one neighbour. The first ping may get lost while a port
// comes up.
const warmTries = 5

// warm fills the neighbour tables of all namespaces before the first measurement, for IPv4 and
// IPv6. With Spec.Lines, only Warm can fill the tables, because the cables are still cut.
func (f *Fabric) warm() error {
	if f.Spec.Lines {
		return nil
	}
	return f.Warm()
}

// Warm pings each neighbour of both leaves, which fills the neighbour tables. With Spec.Lines,
// the caller must call Warm after it has connected the cables.
func (f *Fabric) Warm() error {
	var wg sync.WaitGroup
	errs := make(chan error, 4*(maxHosts+maxSpines))
	ping := func(from *Namespace, to netip.Addr) {
		wg.Go(func() { errs <- from.pingOnce(to) })
	}
	for _, sd := range f.sides() {
		for _, h := range sd.hosts {
			ping(sd.leaf, h.Addr4())
			ping(sd.leaf, h.Addr6())
		}
		for s := range f.Spines {
			ping(sd.leaf, addr4(uplinkNet(sd.num), s+1, 2))
			ping(sd.leaf, addr6(uplinkNet(sd.num), s+1, 2))
		}
	}
	wg.Wait()
	close(errs)
	var all error
	for err := range errs {
		all = errors.Join(all, err)
	}
	return all
}

func (n *Namespace) pingOnce(to netip.Addr) error {
	var err error
	for range warmTries {
		if _, err = n.Run("ping", "-n", "-q", "-c1", "-W1", to.String()); err == nil {
			return nil
		}
	}
	return fmt.Errorf("fabric: %s does not reach its neighbour %s: %w", n.Name, to, err)
}
