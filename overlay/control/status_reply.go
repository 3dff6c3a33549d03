package control

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
)

// statusChunk bounds the bytes of a status that are in memory at the same time, in addition to one
// peer. A hub has thousands of peers with dozens of paths each, so its status has many megabytes.
// maxConns clients may request it at the same time.
const statusChunk = 64 << 10

// noPeers is the JSON text of an empty list of peers. Within a JSON string a quote has a backslash
// before it, so noPeers occurs nowhere else in the status.
var noPeers = []byte(`"peers":[]`)

// writeStatus writes the line of a reply with a status and these peers. It takes the state of a
// peer from the iterator only after the earlier chunks were written to the client.
func writeStatus(w io.Writer, st Status, peers iter.Seq[Peer]) error {
	st.Schema, st.Version, st.Peers = Schema, Version, nil
	st.fillEmpty()
	line, err := json.Marshal(reply{Status: &st})
	if err != nil {
		return err
	}
	head, tail, _ := bytes.Cut(line, noPeers)
	b := append(bytes.Clone(head), noPeers[:len(noPeers)-1]...)
	separator := ""
	for p := range peers {
		p.fillEmpty()
		text, err := json.Marshal(&p)
		if err != nil {
			return err
		}
		b = append(append(b, separator...), text...)
		separator = ","
		if len(b) < statusChunk {
			continue
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		b = b[:0]
	}
	b = append(append(append(b, ']'), tail...), '\n')
	_, err = w.Write(b)
	return err
}
