// Command grpc runs gRPC over an endpoint of package ep: the server listens on streams of package
// epnet, and the client dials them. gRPC itself is unchanged. gRPC needs no TLS here, because
// endpoints encrypt and authenticate their packets.
//
//	go run . serve KEY             prints KEY@ADDR; KEY is the client's
//	go run . ask KEY@ADDR          calls the server's health service
//	go run . key                   makes the client's key, in the file client.key
package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/ep/epnet"
)

// protocol is the protocol name that both endpoints must use.
const protocol = "grpc-example/1"

// keyFile is the file with the client's private key.
const keyFile = "client.key"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "grpc:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "key":
		return makeKey()
	case len(args) == 2 && args[0] == "serve":
		return serveUntil(ctx, args[1])
	case len(args) == 2 && args[0] == "ask":
		return askOnce(ctx, args[1])
	}
	return fmt.Errorf("usage: grpc key | serve KEY | ask KEY@ADDR")
}

// makeKey makes the client's private key, and prints the public key.
func makeKey() error {
	key := ep.NewKey()
	if err := os.WriteFile(keyFile, []byte(key.Reveal()), 0o600); err != nil {
		return err
	}
	fmt.Println(key.Public())
	return nil
}

func serveUntil(ctx context.Context, client string) error {
	key, err := ep.ParseKey(client)
	if err != nil {
		return err
	}
	e, err := ep.Open(ep.Config{Key: ep.NewKey(), Protocol: protocol, Allow: []ep.PublicKey{key}})
	if err != nil {
		return err
	}
	fmt.Printf("%v@127.0.0.1:%d\n", e.PublicKey(), e.Port())
	return serve(ctx, e, registerHealth)
}

func registerHealth(s grpc.ServiceRegistrar) {
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
}

// serve answers gRPC calls over an endpoint until ctx ends, with the services that the function
// register adds. At the end, serve closes the endpoint.
func serve(ctx context.Context, e *ep.Endpoint, register func(grpc.ServiceRegistrar)) error {
	streams, err := epnet.NewStreams(e)
	if err != nil {
		return err
	}
	defer streams.Close()
	l, err := streams.Listen()
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	register(s)
	context.AfterFunc(ctx, s.Stop)
	return s.Serve(l)
}

func askOnce(ctx context.Context, server string) error {
	text, at, _ := strings.Cut(server, "@")
	key, err := ep.ParseKey(text)
	if err != nil {
		return err
	}
	addr, err := netip.ParseAddrPort(at)
	if err != nil {
		return err
	}
	secret, err := os.ReadFile(keyFile)
	if err != nil {
		return err
	}
	own, err := ep.ParsePrivateKey(string(secret))
	if err != nil {
		return err
	}
	e, err := ep.Open(ep.Config{Key: own, Protocol: protocol})
	if err != nil {
		return err
	}
	streams, err := epnet.NewStreams(e)
	if err != nil {
		return err
	}
	defer streams.Close()
	conn, err := dial(streams, key, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		return err
	}
	fmt.Println(r.Status)
	return nil
}

// dial returns a gRPC connection to an endpoint. The target "passthrough:" keeps gRPC from
// looking up the peer in DNS, because the peer's key and addresses are already known.
func dial(from *epnet.Streams, key ep.PublicKey, at ...netip.AddrPort) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///peer",
		grpc.WithTransportCredentials(insecure.NewCredentials()), // the endpoints encrypt
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return from.Dial(ctx, key, at...) }),
	)
}
