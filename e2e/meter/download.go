package meter

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// Content is a web server with one file of random bytes.
type Content struct {
	Size   int64
	SHA256 string // hex
	srv    *http.Server
	addr   netip.AddrPort
}

// contentSeed makes the file equal in every run.
var contentSeed = [32]byte{'s', 'r', 'd'}

// random returns the endless bytes of the file.
func random() io.Reader { return rand.NewChaCha8(contentSeed) }

// Serve serves a file of size bytes on a free port in the host's namespace.
func Serve(h *fabric.Host, at netip.Addr, size int64) (*Content, error) {
	sum := sha256.New()
	if _, err := io.CopyN(sum, random(), size); err != nil {
		return nil, err
	}
	l, err := h.Listen("tcp", netip.AddrPortFrom(at, 0).String())
	if err != nil {
		return nil, err
	}
	c := &Content{Size: size, SHA256: hex.EncodeToString(sum.Sum(nil))}
	c.addr = netip.AddrPortFrom(at, uint16(l.Addr().(*net.TCPAddr).Port))
	c.srv = &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = c.srv.Serve(l) }()
	return c, nil
}

// URL returns the address of the file.
func (c *Content) URL() string { return "http://" + c.addr.String() + "/" }

// Close ends the web server.
func (c *Content) Close() { _ = c.srv.Close() }

// ServeHTTP sends the file as its response.
func (c *Content) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", fmt.Sprint(c.Size))
	// A failed write is ignored, because the client detects an incomplete transfer.
	_, _ = io.CopyN(w, random(), c.Size)
}

// Download is the result of a download by curl.
type Download struct {
	Took   time.Duration
	Bytes  int64
	SHA256 string // hex, of curl's output
}

// Curl downloads a URL inside the host's namespace, without retries, within the time limit. The
// error contains curl's own message, for example about a reset connection.
func Curl(h *fabric.Host, url string, limit time.Duration) (Download, error) {
	sum := &counter{Hash: sha256.New()}
	start := time.Now()
	p, err := h.StartWith(sum, nil, "curl", "-sS", "--fail", "--max-time", fmt.Sprint(int(limit.Seconds())), url)
	if err != nil {
		return Download{}, err
	}
	err = p.Wait(limit + endSlack)
	d := Download{time.Since(start), sum.n, hex.EncodeToString(sum.Sum(nil))}
	if err != nil {
		err = errors.Join(err, errors.New(p.Log.String()))
	}
	return d, err
}

// counter computes the hash and the size of its input.
type counter struct {
	hash.Hash
	n int64
}

// Write adds p to the hash and the size, and never fails.
func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.Hash.Write(p)
}
