package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/srdtun/srdtun/overlay/control"
)

// Each host name of a change that does not resolve is reported once. Names in unchanged keys are
// not reported.
func TestWhatIsAbsentIsSaid(t *testing.T) {
	st := &control.Status{Peers: []control.Peer{
		{Name: "hub", Endpoints: []string{"nosuch.example:51820", "192.0.2.1:51820", "[2001:db8::1]:51820", "there.example:1"}},
		{PublicKey: "K=", Endpoints: []string{"nosuch.example:51820"}},
		{Name: "old", Endpoints: []string{"nosuch.example:51820"}},
	}}
	look := func(_ context.Context, name string) error {
		if name == "nosuch.example" {
			return errors.New("no such host")
		}
		return nil
	}
	const name = "peer.%s: nosuch.example cannot be looked up now (no such host); it is tried again"
	for _, c := range []struct {
		diff control.Difference
		want []string
	}{
		{control.Difference{Text: "~ peer.hub.endpoints", Key: "peer.hub.endpoints", Live: true}, []string{fmt.Sprintf(name, "hub.endpoints")}},
		{control.Difference{Text: "+ peer.K=", Key: "peer.K=", Live: true}, []string{fmt.Sprintf(name, "K=")}},
		{control.Difference{Text: "- peer.old", Key: "peer.old", Live: true}, nil},
		{control.Difference{Text: "~ peer.hub.policy", Key: "peer.hub.policy", Live: true}, nil},
		{control.Difference{Text: "~ paths.policy", Key: "paths.policy", Live: true}, nil},
	} {
		if got := absent(st, []control.Difference{c.diff}, look); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.diff.Key, got, c.want)
		}
	}
}

// A file with thousands of names does not delay the command.
func TestFewNamesAreLookedUp(t *testing.T) {
	st, diff, n := &control.Status{}, []control.Difference{}, 0
	for i := range 1000 {
		who := fmt.Sprint("p", i)
		st.Peers = append(st.Peers, control.Peer{Name: who, Endpoints: []string{"a.example:1"}})
		diff = append(diff, control.Difference{Text: "+", Key: "peer." + who, Live: true})
	}
	absent(st, diff, func(context.Context, string) error { n++; return nil })
	if n != namesMost {
		t.Errorf("%d names", n)
	}
}
