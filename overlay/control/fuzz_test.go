package control

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

// FuzzReply: what a daemon of another version, or somebody else behind the socket, answers
// gives a reply or an error, and takes no more memory than a reply may have.
func FuzzReply(f *testing.F) {
	status, err := json.Marshal(reply{Version: "v1", Status: &Status{Interface: "lab"}})
	if err != nil {
		f.Fatal(err)
	}
	for _, b := range [][]byte{
		append(status, '\n'), []byte("{}\n"), []byte("{}"), []byte("\n"), []byte(`{"error":"no","denied":true}` + "\n"),
		[]byte(`{"status":{"peers":[{"paths":[{}]}]}}` + "\n"), []byte("[[[[[[[[\n"), bytes.Repeat([]byte("x"), 9000),
	} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &Client{name: "lab", r: bufio.NewReader(bytes.NewReader(b))}
		line, err := readLine(c.r, maxReply)
		if err != nil {
			return
		}
		if len(line) > maxReply {
			t.Fatalf("a line of %d bytes", len(line))
		}
		r, err := c.parse(line)
		if err == nil && r.Error != "" || errors.Is(err, ErrPermission) && r.Status != nil {
			t.Fatalf("%+v and %v", r, err)
		}
	})
}
