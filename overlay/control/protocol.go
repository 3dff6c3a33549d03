package control

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/srdtun/srdtun/internal/keytext"
)

const (
	// maxRequest bounds the length of a request line in bytes. The longest valid request sets
	// several keys.
	maxRequest = 64 << 10

	// maxConfig bounds the size in bytes of a configuration that is sent with a request as a file.
	// A configuration has at most 1 MiB. Quotes and line ends take two bytes each in JSON.
	maxConfig = 4 << 20

	// maxReply bounds the line of a reply with a whole status, in bytes. A line of maxReply bytes
	// has room for 500 peers with 256 paths each, at 300 bytes for each path. Replies to other
	// requests have lower limits, so that an endless reply takes little memory.
	maxReply = 64 << 20
	// maxShortReply bounds a reply without a list, in bytes. The longest one has an error of
	// maxError bytes, and each of these bytes takes at most six bytes in JSON.
	maxShortReply = 6*maxError + 4096
	// maxListReply bounds replies with a list, in bytes: 256 flows or paths of 500 bytes, or 2,000
	// events of 1 KB. A status without peers, which names changed and expired peers, has the same
	// limit.
	maxListReply = 4 << 20
	// maxPartReply bounds a reply with the settings of 4,096 peers, at 4 KB each. The limit also
	// has room for the paths of ReachedMost peers, 256 paths of 300 bytes for each peer, and for
	// 65,536 prefixes.
	maxPartReply = 16 << 20

	// connTimeout bounds the time in which a connection takes requests. It also bounds the time for
	// which each part of a reply waits until the client reads.
	connTimeout = 5 * time.Second
)

// These constants are the operations of requests.
const (
	opShow    = "show"
	opDown    = "down"
	opVersion = "version"
	opChange  = "change"
	opConfig  = "config"
	// opRestarting announces that the service manager will start the daemon again.
	opRestarting = "restarting"
)

type request struct {
	Op     string  `json:"op"`
	Change *Change `json:"change,omitempty"` // change only
	// Enclosed means that the change is in a file, whose descriptor is sent with the request.
	Enclosed bool   `json:"enclosed,omitempty"`
	After    uint64 `json:"after,omitempty"`   // events only
	Ms       int64  `json:"ms,omitempty"`      // flows only: how long to count
	Peer     string `json:"peer,omitempty"`    // ping: the peer to measure; show: the only peer in the reply
	Brief    bool   `json:"brief,omitempty"`   // show only: without peers
	Reached  bool   `json:"reached,omitempty"` // show only: with some of the peers that have paths
	Every    bool   `json:"every,omitempty"`   // ping only: all paths
}

type reply struct {
	Error   string  `json:"error,omitempty"`
	Denied  bool    `json:"denied,omitempty"`
	Version string  `json:"version,omitempty"`
	Status  *Status `json:"status,omitempty"`
	// Bad means that the requested configuration is invalid.
	Bad     bool         `json:"bad,omitempty"`
	Changed []Difference `json:"changed,omitempty"`
	// Warnings has the warnings about the changed configuration.
	Warnings []string `json:"warnings,omitempty"`
	Config   string   `json:"config,omitempty"`
	// Done means that the daemon carried out an operation that returns nothing else.
	Done bool `json:"done,omitempty"`

	Happened *Happened `json:"happened,omitempty"`
	Flows    *Flows    `json:"flows,omitempty"`
	Pings    *Pings    `json:"pings,omitempty"`
}

var errTooLong = errors.New("line too long")

func (r *request) replyBound() int {
	switch r.Op {
	case opVersion, opDown, opRestarting:
		return maxShortReply
	case opEvents, opFlows, opPing:
		return maxListReply
	case opChange, opConfig:
		return maxPartReply
	case opShow:
		switch {
		case r.Brief:
			return maxListReply
		case r.Reached, r.Peer != "":
			return maxPartReply
		}
	}
	return maxReply
}

// readLine returns the next line of r without its newline, at most `limit` bytes. It joins the
// parts of a line only when the line is complete, so an endless line takes at most `limit` bytes of
// memory. The error is io.EOF if r ended before a first byte.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var parts [][]byte
	for n := 0; ; {
		part, err := r.ReadSlice('\n')
		if n += len(part); n > limit {
			return nil, errTooLong
		}
		parts = append(parts, bytes.Clone(part))
		switch {
		case err == nil:
			line := parts[0]
			if len(parts) > 1 {
				line = slices.Concat(parts...)
			}
			return line[:n-1], nil
		case errors.Is(err, io.EOF) && n > 0:
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// parseRequest decodes one request line. An unknown key is an error, so a newer client detects
// that this daemon does not support the key.
func parseRequest(line []byte) (request, error) {
	var req request
	if err := strictly(line, &req); err != nil {
		return request{}, err
	}
	switch req.Op {
	case opShow, opDown, opVersion, opConfig, opEvents, opFlows, opPing, opRestarting:
		return req, nil
	case opChange:
		if (req.Change == nil) != req.Enclosed {
			return request{}, errors.New("request is not understood: it names no change")
		}
		if req.Change != nil && req.Change.secret() {
			return request{}, errors.New("request is not understood: a configuration comes as a file")
		}
		return req, nil
	}
	return request{}, fmt.Errorf("operation %s is not known", keytext.Quote(req.Op))
}

// strictly decodes one JSON value and refuses unknown keys.
func strictly(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return errors.New("request is not understood: " + keytext.Hide(err.Error(), nil))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("request is not understood: more than one value on a line")
	}
	return nil
}

// writeReply writes a reply and its newline with one call. For a reply with many peers, use
// writeStatus.
func writeReply(w io.Writer, r reply) error { return json.NewEncoder(w).Encode(r) }
