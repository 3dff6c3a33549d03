package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/srdtun/srdtun/overlay/control"
)

// A change may be sound and name what is not there, now: an interface that is not plugged in, a
// name that nobody knows. It counts, and begins to work when that comes. A typing error should be
// reported at once.
const (
	// namesMost bounds the names that are looked up for one change: a file may bring thousands.
	namesMost = 16
	// namesWait is how long all of that may take.
	namesWait = 3 * time.Second
)

// absent lists the changed values that this host does not have.
func absent(st *control.Status, diff []control.Difference, lookUp func(ctx context.Context, name string) error) (v []string) {
	ctx, cancel := context.WithTimeout(context.Background(), namesWait)
	defer cancel()
	looked := 0
	for _, d := range diff {
		if d.Key == "paths.local" {
			for _, l := range st.Missing {
				v = append(v, fmt.Sprintf("paths.local: %s has no address here; its paths begin when it has", l))
			}
		}
		if !d.Live || strings.HasPrefix(d.Text, "-") {
			continue
		}
		for _, name := range namesOf(st, d.Key) {
			if looked++; looked > namesMost {
				return v
			}
			if err := lookUp(ctx, name); err != nil {
				v = append(v, fmt.Sprintf("%s: %s cannot be looked up now (%v); it is tried again", d.Key, name, err))
			}
		}
	}
	return v
}

// namesOf returns the host names in the endpoints of the peer that a key is of: a peer that is
// new, or its endpoints.
func namesOf(st *control.Status, key string) (v []string) {
	who, ok := strings.CutPrefix(strings.TrimSuffix(key, ".endpoints"), "peer.")
	if !ok {
		return nil
	}
	p := st.Find(who)
	if p == nil {
		return nil
	}
	for _, e := range p.Endpoints {
		host, _, err := net.SplitHostPort(e)
		if _, bad := netip.ParseAddr(host); err == nil && bad != nil {
			v = append(v, host)
		}
	}
	return v
}

// lookUp looks a name up, and says in short why not.
func lookUp(ctx context.Context, name string) error {
	_, err := net.DefaultResolver.LookupHost(ctx, name)
	var of *net.DNSError
	if errors.As(err, &of) {
		return errors.New(of.Err)
	}
	return err
}
