package main

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop"
	"google.golang.org/grpc/interop/grpc_testing"
)

// TestInterop runs those of gRPC's interoperability tests that need neither TLS nor an account,
// over streams of an endpoint. A test that fails prints the reason and ends the process. The
// tests are described in grpc/doc/interop-test-descriptions.md of gRPC.
func TestInterop(t *testing.T) {
	streams, key, at := pair(t, func(s grpc.ServiceRegistrar) {
		grpc_testing.RegisterTestServiceServer(s, interop.NewTestServer())
	})
	conn, err := dial(streams, key, at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	service := grpc_testing.NewTestServiceClient(conn)
	for _, c := range []struct {
		name string
		run  func(context.Context, grpc_testing.TestServiceClient, ...grpc.CallOption)
	}{
		{"empty_unary", interop.DoEmptyUnaryCall},
		{"large_unary", interop.DoLargeUnaryCall},
		{"client_streaming", interop.DoClientStreaming},
		{"server_streaming", interop.DoServerStreaming},
		{"ping_pong", interop.DoPingPong},
		{"empty_stream", interop.DoEmptyStream},
		{"timeout_on_sleeping_server", interop.DoTimeoutOnSleepingServer},
		{"cancel_after_begin", interop.DoCancelAfterBegin},
		{"cancel_after_first_response", interop.DoCancelAfterFirstResponse},
		{"custom_metadata", interop.DoCustomMetadata},
		{"status_code_and_message", interop.DoStatusCodeAndMessage},
		{"special_status_message", interop.DoSpecialStatusMessage},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(ctx, service) })
	}
	t.Run("unimplemented_service", func(t *testing.T) {
		interop.DoUnimplementedService(ctx, grpc_testing.NewUnimplementedServiceClient(conn))
	})
	t.Run("unimplemented_method", func(t *testing.T) { interop.DoUnimplementedMethod(ctx, conn) })
}
