package main

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/ep"
)

// A server serves only clients whose keys are derived from its own key. An endpoint with another
// key gets no reply, although it knows the server's public key.
func TestStrangerIsNotServed(t *testing.T) {
	line, _, _ := startServer(t)
	to, err := parseTarget(line)
	if err != nil {
		t.Fatal(err)
	}
	send := func(key ep.PrivateKey) error {
		e, err := ep.Open(ep.Config{Key: key, Protocol: protocol, Ports: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		h, err := e.Handle(to.key, to.addrs...)
		if err != nil {
			t.Fatal(err)
		}
		return e.Confirm(t.Context(), h, []byte("x"), ep.SendOptions{Timeout: time.Second})
	}
	client, err := clientKey(to.key, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := send(client); err != nil {
		t.Errorf("a client: %v", err)
	}
	if err := send(ep.NewKey()); err != ep.StatusTimedOut {
		t.Errorf("a stranger: %v, want %v", err, ep.StatusTimedOut)
	}
}
