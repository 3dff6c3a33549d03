package ep_test

import (
	"context"
	"net"
	"testing"

	"github.com/srdtun/srdtun/srd/ep"
)

// BenchmarkSend sends messages as fast as the endpoint accepts them.
func BenchmarkSend(b *testing.B) {
	for _, x := range []struct {
		name string
		size int
	}{{"64", 64}, {"8KiB", 8 << 10}, {"1MiB", 1 << 20}} {
		b.Run(x.name, func(b *testing.B) { stream(b, x.size) })
	}
}

func stream(b *testing.B, size int) {
	ctx := context.Background()
	to2, from := open("bench"), open("bench")
	defer to2.Close()
	defer from.Close()
	to2.Allow(from.PublicKey())
	h := to(from, to2)
	for range 256 {
		to2.PostReceive(make([]byte, size), 0)
	}
	go func() {
		batch := make([]ep.Completion, 64)
		for {
			n, err := to2.Receives().Wait(ctx, batch)
			if err != nil {
				return
			}
			for _, c := range batch[:n] {
				to2.PostReceive(c.Data[:cap(c.Data)], 0)
			}
		}
	}()
	go func() {
		batch := make([]ep.Completion, 64)
		for {
			if _, err := from.Sends().Wait(ctx, batch); err != nil {
				return
			}
		}
	}()
	data := make([]byte, size)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		must(b, from.Send(ctx, h, data, ep.SendOptions{}))
	}
}

// BenchmarkPingPong measures one round trip of 64 bytes.
func BenchmarkPingPong(b *testing.B) {
	ctx := context.Background()
	x, y := open("bench"), open("bench")
	defer x.Close()
	defer y.Close()
	y.Allow(x.PublicKey())
	xy := to(x, y)
	yx, _ := y.Handle(x.PublicKey())
	for _, e := range []*ep.Endpoint{x, y} {
		for range 8 {
			e.PostReceive(make([]byte, 64), 0)
		}
	}
	quiet := ep.SendOptions{Quiet: true}
	data := make([]byte, 64)
	turn := func(e *ep.Endpoint) bool {
		var c [1]ep.Completion
		_, err := e.Receives().Wait(ctx, c[:])
		if err == nil {
			err = e.PostReceive(c[0].Data[:64], 0)
		}
		return err == nil
	}
	go func() {
		for turn(y) {
			y.Send(ctx, yx, data, quiet)
		}
	}()
	b.ReportAllocs()
	for b.Loop() {
		x.Send(ctx, xy, data, quiet)
		if !turn(x) {
			b.Fatal("closed")
		}
	}
}

// BenchmarkPingPongUDP is BenchmarkPingPong over plain UDP sockets, for comparison.
func BenchmarkPingPongUDP(b *testing.B) {
	x, y := socket(b), socket(b)
	go func() {
		for buf := make([]byte, 64); ; {
			n, from, err := y.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			y.WriteToUDPAddrPort(buf[:n], from)
		}
	}()
	to, buf := y.LocalAddr().(*net.UDPAddr).AddrPort(), make([]byte, 64)
	b.ReportAllocs()
	for b.Loop() {
		x.WriteToUDPAddrPort(buf, to)
		if _, _, err := x.ReadFromUDPAddrPort(buf); err != nil {
			b.Fatal(err)
		}
	}
}

func socket(b *testing.B) *net.UDPConn {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	must(b, err)
	b.Cleanup(func() { c.Close() })
	return c
}

// BenchmarkWrite and BenchmarkRead write or read bytes of a region, with 16 requests in
// progress.
func BenchmarkWrite(b *testing.B) { remote(b, ep.AccessWrite) }

func BenchmarkRead(b *testing.B) { remote(b, ep.AccessRead) }

func remote(b *testing.B, access ep.Access) {
	for _, x := range []struct {
		name string
		size int
	}{{"64", 64}, {"1MiB", 1 << 20}} {
		b.Run(x.name, func(b *testing.B) {
			ctx := context.Background()
			owner, user := open("bench"), open("bench")
			defer owner.Close()
			defer user.Close()
			owner.Allow(user.PublicKey())
			h := to(user, owner)
			region, err := owner.Register(user.PublicKey(), make([]byte, x.size), access)
			must(b, err)
			batch, data := make([]ep.Completion, 16), make([]byte, x.size)
			b.SetBytes(int64(x.size))
			b.ReportAllocs()
			for open := 0; b.Loop(); open++ {
				if open >= 16 {
					n, err := user.Sends().Wait(ctx, batch)
					if err != nil || batch[0].Err() != nil {
						b.Fatal(err, batch[0].Err())
					}
					open -= n
				}
				if access == ep.AccessWrite {
					err = user.Write(ctx, h, region.Remote(0), data, ep.SendOptions{})
				} else {
					err = user.Read(ctx, h, region.Remote(0), data, ep.SendOptions{})
				}
				must(b, err)
			}
		})
	}
}
