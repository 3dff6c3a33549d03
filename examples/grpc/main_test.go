package main

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/ep/epnet"
)

// pair starts a server and returns a client's streams and the server's address.
func pair(t *testing.T, register func(grpc.ServiceRegistrar)) (*epnet.Streams, ep.PublicKey, netip.AddrPort) {
	open := func() *ep.Endpoint {
		e, err := ep.Open(ep.Config{Key: ep.NewKey(), Protocol: protocol})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	there, here := open(), open()
	there.Allow(here.PublicKey())
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := serve(ctx, there, register); err != nil {
			t.Error(err)
		}
	})
	streams, err := epnet.NewStreams(here)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { streams.Close(); cancel(); serving.Wait() })
	return streams, there.PublicKey(), netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), there.Port())
}

func TestCallsAndStreams(t *testing.T) {
	streams, key, at := pair(t, registerHealth)
	conn, err := dial(streams, key, at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := grpc_health_v1.NewHealthClient(conn)

	var calls sync.WaitGroup
	for range 100 {
		calls.Go(func() {
			r, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
			if err != nil || r.Status != grpc_health_v1.HealthCheckResponse_SERVING {
				t.Error(r, err)
			}
		})
	}
	calls.Wait()

	// An error of the server reaches the client with its code.
	_, err = client.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "none"})
	if status.Code(err) != codes.NotFound {
		t.Error(err)
	}

	// The client ends a stream of the server.
	ctx, stop := context.WithCancel(ctx)
	w, err := client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := w.Recv(); err != nil || r.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Error(r, err)
	}
	stop()
	if _, err := w.Recv(); status.Code(err) != codes.Canceled {
		t.Error(err)
	}
}
