package control

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
)

// statusChunk is the part of a status that is in memory at once, beside one peer. A hub has
// thousands of peers with dozens of paths each, which is many megabytes, and maxConns clients may
// ask at the same time.
const statusChunk = 64 << 10

// noPeers is the list of peers in a status without peers. Quotes within a JSON text have a
// backslash, so this text occurs nowhere else in the status.
var noPeers = []byte(`"peers":[]`)

// writeStatus writes the line of a reply with a status and these peers. writeStatus requests the
// state of a peer after the client has read the earlier peers.
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
