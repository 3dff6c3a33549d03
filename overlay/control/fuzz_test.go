package control

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/srdtun/srdtun/overlay/control/rundir"
)

// FuzzReply checks that the client decodes any line to a reply or an error, even if another version
// or a foreign program wrote the line. The decoded reply must not take more memory than allowed.
func FuzzReply(f *testing.F) {
	status, err := json.Marshal(reply{Version: "v1", Status: &Status{Interface: "lab"}})
	must(f, err)
	for _, b := range [][]byte{
		append(status, '\n'), []byte("{}\n"), []byte("{}"), []byte("\n"), []byte(`{"error":"no","denied":true}` + "\n"),
		[]byte(`{"status":{"peers":[{"paths":[{}]}]}}` + "\n"), []byte("[[[[[[[[\n"),
		[]byte(`{"\u017ftatu\u0073":{"peers":[null,{},0],"Drops":{"\\":1,"a":null},"unsaved":["","\""]}}` + "\n"), bytes.Repeat([]byte("x"), 9000),
	} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &Client{at: rundir.Place{Device: "lab"}, r: bufio.NewReader(bytes.NewReader(b))}
		line, err := readLine(c.r, maxReply)
		if err != nil {
			return
		}
		if len(line) > maxReply {
			t.Fatalf("a line of %d bytes", len(line))
		}
		r, err := c.parse(line)
		if n, most := held(reflect.ValueOf(r)), freeBytes+2*growth*len(line); n > most { // making a text printable may lengthen it
			t.Fatalf("%d bytes hold %d, above %d", len(line), n, most)
		}
		if err == nil && r.Error != "" || errors.Is(err, ErrPermission) && r.Status != nil {
			t.Fatalf("%+v and %v", r, err)
		}
	})
}

// held returns the number of bytes to which a value refers, in addition to the value's own bytes.
func held(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer:
		if !v.IsNil() {
			n = int(v.Elem().Type().Size()) + held(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += held(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			n += int(v.Type().Elem().Size()) + held(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			n += int(k.Type().Size()+v.Type().Elem().Size()) + held(k) + held(v.MapIndex(k))
		}
	}
	return n
}
