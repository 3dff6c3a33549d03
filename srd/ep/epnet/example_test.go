package epnet_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/ep/epnet"
)

// A web server and its client use many paths, and no TLS: the keys authenticate both ends.
func Example() {
	web, _ := ep.Open(ep.Config{Key: ep.NewKey(), Protocol: "web/1"})
	browser, _ := ep.Open(ep.Config{Key: ep.NewKey(), Protocol: "web/1"})
	web.Allow(browser.PublicKey())

	there, err := epnet.NewStreams(web)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer there.Close()
	l, _ := there.Listen()
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello ", r.URL.Path) }))

	here, _ := epnet.NewStreams(browser)
	defer here.Close()
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return here.Dial(ctx, web.PublicKey(), local(web))
		},
	}}
	defer client.CloseIdleConnections()
	r, err := client.Get("http://web/world")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	fmt.Println(string(text), err)
	// Output: hello /world <nil>
}

// Datagrams are sent to an Addr, and have an Addr as their source.
func ExamplePackets() {
	x, _ := ep.Open(ep.Config{Key: ep.NewKey(), Protocol: "datagrams/1"})
	y, _ := ep.Open(ep.Config{Key: ep.NewKey(), Protocol: "datagrams/1"})
	y.Allow(x.PublicKey())
	a, _ := epnet.NewPackets(x, 0)
	defer a.Close()
	b, _ := epnet.NewPackets(y, 0)
	defer b.Close()
	a.WriteTo([]byte("a reading"), epnet.Addr{Key: y.PublicKey(), At: local(y)})
	buf := make([]byte, 1500)
	n, from, err := b.ReadFrom(buf)
	fmt.Println(string(buf[:n]), from.String() == x.PublicKey().String(), err)
	// Output: a reading true <nil>
}
