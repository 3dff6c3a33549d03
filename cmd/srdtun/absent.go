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

// A valid change of the configuration may contain a host name that has no address yet. The daemon
// applies such a change, and uses the address once the name resolves. But the name may also be
// mistyped, so the command warns immediately.
const (
	// namesMost bounds the number of lookups for one change, because a file may have thousands of
	// names.
	namesMost = 16
	// namesWait bounds the time of all lookups together.
	namesWait = 3 * time.Second
)

// absent returns a line for each changed host name that does not resolve.
func absent(st *control.Status, diff []control.Difference, lookUp func(ctx context.Context, name string) error) (v []string) {
	ctx, cancel := context.WithTimeout(context.Background(), namesWait)
	defer cancel()
	looked := 0
	for _, d := range diff {
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

// namesOf returns the host names in a peer's endpoints, if `key` denotes the whole peer or its
// endpoints.
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

// lookUp resolves a name, and returns a short reason if that fails.
func lookUp(ctx context.Context, name string) error {
	_, err := net.DefaultResolver.LookupHost(ctx, name)
	var of *net.DNSError
	if errors.As(err, &of) {
		return errors.New(of.Err)
	}
	return err
}
