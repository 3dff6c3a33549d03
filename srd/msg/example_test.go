package msg_test

import (
	"context"
	"fmt"
	"time"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/msg"
)

// open opens an endpoint with a new key.
func open() *msg.Endpoint {
	m, err := msg.Open(msg.Config{Endpoint: ep.Config{Key: ep.NewKey(), Protocol: "example/1"}})
	if err != nil {
		panic(err)
	}
	return m
}

// to makes a handle from one endpoint to another on this host.
func to(from, m *msg.Endpoint) *msg.Handle {
	m.Allow(from.PublicKey())
	h, err := from.Handle(m.PublicKey(), local(m.Port()))
	if err != nil {
		panic(err)
	}
	return h
}

// wait waits for one completion.
func wait(q *msg.Queue) msg.Completion {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var c [1]msg.Completion
	if _, err := q.Wait(ctx, c[:]); err != nil {
		panic(err)
	}
	return c[0]
}

// Each receive gets the message with its tag, whatever the order in which messages arrive.
func Example() {
	ctx := context.Background()
	a, b := open(), open()
	defer a.Close()
	defer b.Close()
	h := to(a, b)
	const question, answer = 1, 2
	b.Receive(msg.Match{Tag: answer}, make([]byte, 100), 0)
	h.Send(ctx, question, []byte("how many roads?"), msg.Options{})
	h.Send(ctx, answer, []byte("42"), msg.Options{})
	fmt.Println(string(wait(b.Receives()).Data))
	b.Receive(msg.Match{Tag: question}, make([]byte, 100), 0)
	fmt.Println(string(wait(b.Receives()).Data))
	// Output:
	// 42
	// how many roads?
}

// A mask excludes bits of the tag from the comparison. Here the upper half of a tag is a
// kind, and the lower half a number.
func ExampleEndpoint_Receive() {
	ctx := context.Background()
	a, b := open(), open()
	defer a.Close()
	defer b.Close()
	const kind, anyNumber = 7 << 32, 1<<32 - 1
	b.Receive(msg.Match{From: a.PublicKey(), Tag: kind, Ignore: anyNumber}, make([]byte, 1<<20), 0)
	to(a, b).Send(ctx, kind|25, make([]byte, 1<<20), msg.Options{})
	c := wait(b.Receives())
	fmt.Println("number", c.Tag&anyNumber, "with", len(c.Data), "bytes")
	// Output: number 25 with 1048576 bytes
}

// Ordered messages are matched in the order in which they were sent.
func ExampleHandle_Send() {
	ctx := context.Background()
	a, b := open(), open()
	defer a.Close()
	defer b.Close()
	h := to(a, b)
	for i := range 3 {
		b.Receive(msg.Match{}, make([]byte, 10), uint64(i))
		h.Send(ctx, 0, []byte{'a' + byte(i)}, msg.Options{Ordered: true})
	}
	for range 3 {
		c := wait(b.Receives())
		fmt.Println(c.Context, string(c.Data))
	}
	// Output:
	// 0 a
	// 1 b
	// 2 c
}

// The program chooses a buffer after it knows the size of the message.
func ExampleEndpoint_Claim() {
	ctx := context.Background()
	a, b := open(), open()
	defer a.Close()
	defer b.Close()
	to(a, b).Send(ctx, 3, make([]byte, 50_000), msg.Options{})
	any := msg.Match{Ignore: ^uint64(0)}
	claimed, ok := b.Claim(any)
	for ; !ok; claimed, ok = b.Claim(any) {
		time.Sleep(time.Millisecond)
	}
	claimed.Receive(make([]byte, claimed.Size), 0)
	fmt.Println(len(wait(b.Receives()).Data), "bytes")
	// Output: 50000 bytes
}

// One buffer receives many messages.
func ExampleEndpoint_ReceiveMulti() {
	ctx := context.Background()
	a, b := open(), open()
	defer a.Close()
	defer b.Close()
	h := to(a, b)
	b.ReceiveMulti(msg.Match{}, make([]byte, 4096), 2000, 0)
	for i := range 3 {
		h.Send(ctx, 0, make([]byte, 1000+i), msg.Options{Ordered: true})
	}
	for {
		c := wait(b.Receives())
		if c.Op == msg.OpReleased {
			fmt.Println("the buffer is free")
			return
		}
		fmt.Println(len(c.Data), "bytes")
	}
	// Output:
	// 1000 bytes
	// 1001 bytes
	// 1002 bytes
	// the buffer is free
}

// A receive that has not matched a message can be cancelled.
func ExampleEndpoint_Cancel() {
	m := open()
	defer m.Close()
	m.Receive(msg.Match{Tag: 5}, make([]byte, 100), 77)
	fmt.Println(m.Cancel(77), wait(m.Receives()).Err)
	// Output: true msg: the receive was canceled
}
