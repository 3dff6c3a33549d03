package ep_test

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd/ep"
)

// local returns the address at which programs on this host reach e.
func local(e *ep.Endpoint) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), e.Port())
}

// open opens an endpoint with a new key.
func open(protocol string) *ep.Endpoint {
	e, err := ep.Open(ep.Config{Key: ep.NewKey(), Protocol: protocol})
	if err != nil {
		panic(err)
	}
	return e
}

// to makes a handle of `from` for e.
func to(from, e *ep.Endpoint) *ep.Handle {
	h, err := from.Handle(e.PublicKey(), local(e))
	if err != nil {
		panic(err)
	}
	return h
}

// A server sends its answer to the sender of the question.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, client := open("greeting/1"), open("greeting/1")
	defer server.Close()
	defer client.Close()
	server.Allow(client.PublicKey())

	go func() {
		server.PostReceive(make([]byte, 1024), 0)
		var c [1]ep.Completion
		if _, err := server.Receives().Wait(ctx, c[:]); err != nil {
			return
		}
		back, _ := server.Handle(c[0].From)
		server.Send(ctx, back, append([]byte("hello "), c[0].Data...), ep.SendOptions{})
	}()

	client.PostReceive(make([]byte, 1024), 0)
	if err := client.Confirm(ctx, to(client, server), []byte("world"), ep.SendOptions{}); err != nil {
		fmt.Println(err)
		return
	}
	var c [1]ep.Completion
	client.Receives().Wait(ctx, c[:])
	fmt.Println(string(c[0].Data), c[0].Err())
	// Output: hello world <nil>
}

// A transfer is many requests at once. They may arrive in any order, so each has its
// position in four bytes of immediate data.
func ExampleEndpoint_Send() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	from, here := open("copy/1"), open("copy/1")
	defer from.Close()
	defer here.Close()
	here.Allow(from.PublicKey())
	const blocks, size = 64, 64 << 10
	for range blocks {
		here.PostReceive(make([]byte, size), 0)
	}
	h := to(from, here)
	for i := range blocks {
		from.Send(ctx, h, make([]byte, size), ep.SendOptions{Immediate: uint32(i), HasImmediate: true})
	}
	places, batch := map[uint32]int{}, make([]ep.Completion, 16)
	for len(places) < blocks {
		n, err := here.Receives().Wait(ctx, batch)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, c := range batch[:n] {
			places[c.Immediate] = len(c.Data)
		}
	}
	fmt.Println(len(places), "blocks,", places[63], "bytes in the last")
	// Output: 64 blocks, 65536 bytes in the last
}

// In this example late messages are useless, and the other end posts no receive. The
// requests fail, because the deadline has passed, or because the peer has refused the
// message too often.
func ExampleSendOptions() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	screen, camera := open("frames/1"), open("frames/1")
	defer screen.Close()
	defer camera.Close()
	screen.Allow(camera.PublicKey())
	h := to(camera, screen)
	frame := make([]byte, 50_000)
	fmt.Println(camera.Confirm(ctx, h, frame, ep.SendOptions{Timeout: 200 * time.Millisecond}))
	fmt.Println(camera.Confirm(ctx, h, frame, ep.SendOptions{NotReady: 2}))
	// Output:
	// ep: timed out
	// ep: receiver not ready
}

// Poll takes completions in batches, without waiting and without allocation. The channel of
// Event has a token when there are new completions.
func ExampleQueue_Poll() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a, b := open("poll/1"), open("poll/1")
	defer a.Close()
	defer b.Close()
	b.Allow(a.PublicKey())
	h := to(a, b)
	for i := range 10 {
		b.PostReceive(make([]byte, 64), 0)
		a.Send(ctx, h, []byte("x"), ep.SendOptions{Context: uint64(i)})
	}
	done, batch := 0, make([]ep.Completion, 4)
	for done < 10 {
		n := a.Sends().Poll(batch)
		if done += n; n == 0 {
			<-a.Sends().Event()
		}
	}
	fmt.Println(done, "requests are complete")
	// Output: 10 requests are complete
}

// A waiting receiver is woken only by messages whose senders have set Solicited.
func ExampleQueue_Solicited() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a, b := open("alarm/1"), open("alarm/1")
	defer a.Close()
	defer b.Close()
	b.Allow(a.PublicKey())
	b.Receives().Solicited(true)
	h := to(a, b)
	for range 3 {
		b.PostReceive(make([]byte, 64), 0)
	}
	a.Confirm(ctx, h, []byte("a reading"), ep.SendOptions{})
	a.Confirm(ctx, h, []byte("a reading"), ep.SendOptions{})
	fmt.Println(len(b.Receives().Event()), "events")
	a.Confirm(ctx, h, []byte("fire"), ep.SendOptions{Solicited: true})
	<-b.Receives().Event()
	fmt.Println(b.Receives().Poll(make([]ep.Completion, 8)), "messages")
	// Output:
	// 0 events
	// 3 messages
}

// Closing a handle flushes its own requests, and changes nothing else.
func ExampleHandle_Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a, b := open("handles/1"), open("handles/1")
	defer a.Close()
	defer b.Close()
	b.Allow(a.PublicKey())
	first, second := to(a, b), to(a, b)
	a.Send(ctx, first, []byte("no receive is posted"), ep.SendOptions{})
	first.Close()
	var c [1]ep.Completion
	a.Sends().Wait(ctx, c[:])
	fmt.Println(c[0].Err())
	b.PostReceive(make([]byte, 64), 0)
	b.PostReceive(make([]byte, 64), 0)
	fmt.Println(a.Confirm(ctx, second, []byte("still here"), ep.SendOptions{}))
	// Output:
	// ep: flushed
	// <nil>
}

// Revoke undoes Allow, and ends the peer's session.
func ExampleEndpoint_Revoke() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a, _ := ep.Open(ep.Config{Key: ep.NewKey(), Protocol: "guests/1", Unresponsive: 500 * time.Millisecond})
	b := open("guests/1")
	defer a.Close()
	defer b.Close()
	b.Allow(a.PublicKey())
	b.PostReceive(make([]byte, 64), 0)
	h := to(a, b)
	fmt.Println(a.Confirm(ctx, h, []byte("hello"), ep.SendOptions{}))
	b.Revoke(a.PublicKey())
	fmt.Println(a.Confirm(ctx, h, []byte("hello?"), ep.SendOptions{}) != nil)
	// Output:
	// <nil>
	// true
}

// A peer may write to and read memory that was registered for it. Usually the key of the
// region is sent to the peer as a message; in this example both ends are in one program.
// The immediate data tells the owner of the memory that all bytes have arrived.
func ExampleEndpoint_Write() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	writer, owner := open("memory/1"), open("memory/1")
	defer writer.Close()
	defer owner.Close()
	owner.Allow(writer.PublicKey())
	memory := []byte("0123456789")
	region, _ := owner.Register(writer.PublicKey(), memory, ep.AccessWrite)
	defer region.Close()
	owner.PostReceive(nil, 0) // a receive for the immediate data

	h := to(writer, owner)
	writer.Write(ctx, h, region.Remote(4), []byte("abc"), ep.SendOptions{Immediate: 1, HasImmediate: true})
	var c [1]ep.Completion
	owner.Receives().Wait(ctx, c[:])
	fmt.Println(string(memory), c[0].Bytes, "bytes written")

	writer.Sends().Wait(ctx, c[:]) // waits for the completion of the write
	writer.Write(ctx, h, region.Remote(8), []byte("abc"), ep.SendOptions{})
	writer.Sends().Wait(ctx, c[:])
	fmt.Println(c[0].Err())
	// Output:
	// 0123abc789 3 bytes written
	// ep: remote invalid
}

// The owner of the memory does nothing for a read.
func ExampleEndpoint_Read() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	reader, owner := open("memory/1"), open("memory/1")
	defer reader.Close()
	defer owner.Close()
	owner.Allow(reader.PublicKey())
	region, _ := owner.Register(reader.PublicKey(), []byte("0123456789"), ep.AccessRead)

	reader.Read(ctx, to(reader, owner), region.Remote(4), make([]byte, 3), ep.SendOptions{})
	var c [1]ep.Completion
	reader.Sends().Wait(ctx, c[:])
	fmt.Println(string(c[0].Data), c[0].Err())
	// Output: 456 <nil>
}
