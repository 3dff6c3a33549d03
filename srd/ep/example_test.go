package ep_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/srd/ep"
)

// local returns the address at which programs on this host call e.
func local(e *ep.Endpoint) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), e.Port())
}

// A server with an answer, and a client.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, _ := ep.Listen(ep.Config{Key: ep.NewKey(), Protocol: "greeting/1"})
	defer server.Close()
	client, _ := ep.Listen(ep.Config{Key: ep.NewKey(), Protocol: "greeting/1"})
	defer client.Close()
	server.Allow(client.PublicKey())
	go func() {
		c, _ := server.Accept(ctx)
		name, _ := c.Receive(ctx)
		c.Send(ctx, ep.Message{Data: append([]byte("hello "), name...)})
	}()
	c, err := client.Dial(ctx, server.PublicKey(), local(server))
	if err != nil {
		fmt.Println(err)
		return
	}
	c.Send(ctx, ep.Message{Data: []byte("world")})
	answer, err := c.Receive(ctx)
	fmt.Println(string(answer), err)
	// Output: hello world <nil>
}

// A transfer ends when all of it is acknowledged. Messages have no order, so each
// contains its place.
func ExampleConn_Drain() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	to, from := open("copy/1"), open("copy/1")
	defer to.Close()
	defer from.Close()
	to.Allow(from.PublicKey())
	c, err := from.Dial(ctx, to.PublicKey(), local(to))
	if err != nil {
		fmt.Println(err)
		return
	}
	const blocks, size = 64, 64 << 10
	go func() {
		for i := range blocks {
			block := make([]byte, size)
			block[0] = byte(i)
			c.Send(ctx, ep.Message{Data: block})
		}
	}()
	got := map[byte]int{}
	in, _ := to.Accept(ctx)
	for range blocks {
		block, err := in.Receive(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		got[block[0]] += len(block)
	}
	fmt.Println(len(got), "blocks,", c.Drain(ctx))
	// Output: 64 blocks, <nil>
}

// Late messages are useless here. The other end does not receive, so the window fills,
// and the remaining messages are given up at their deadlines. Each message gets a status.
func ExampleMessage() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	screen, camera := open("frames/1"), open("frames/1")
	defer screen.Close()
	defer camera.Close()
	screen.Allow(camera.PublicKey())
	c, err := camera.Dial(ctx, screen.PublicKey(), local(screen))
	if err != nil {
		fmt.Println(err)
		return
	}
	var told [3]atomic.Int64
	for range 20 {
		err := c.Send(ctx, ep.Message{Data: make([]byte, 500_000), Deadline: 2 * time.Second, Done: func(s ep.Status) { told[s].Add(1) }})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(c.Drain(ctx))
	c.Close()
	arrived, late, reset := told[ep.Acknowledged].Load(), told[ep.GivenUp].Load(), told[ep.Reset].Load()
	fmt.Println(arrived > 0, late > 0, reset, arrived+late)
	// Output:
	// <nil>
	// true true 0 20
}

// open opens an endpoint with a new key.
func open(protocol string) *ep.Endpoint {
	e, err := ep.Listen(ep.Config{Key: ep.NewKey(), Protocol: protocol})
	if err != nil {
		panic(err)
	}
	return e
}
