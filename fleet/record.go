package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
)

// version is the version of the formats of records and grants.
const version = 1

// MaxRecord bounds the size of a record in the store, in bytes. The largest valid record, with
// full lists, is shorter than MaxRecord.
const MaxRecord = 16 << 10

// Record is a member's description of itself in the store.
type Record struct {
	Name       string
	PublicKey  Key
	Endpoints  []netip.AddrPort // empty: the member begins all handshakes itself
	AllowedIPs []netip.Prefix   // sorted
	Grant      *Grant           // nil: the allow lists of the other members decide
}

// wireRecord is the JSON form of a record.
type wireRecord struct {
	Version    int        `json:"version"`
	Name       string     `json:"name"`
	PublicKey  string     `json:"public_key"`
	Endpoints  []string   `json:"endpoints,omitempty"`
	AllowedIPs []string   `json:"allowed_ips"`
	Grant      *wireGrant `json:"grant,omitempty"`
}

// ParseRecord parses a record from arbitrary bytes. Because of MaxRecord, the time for parsing is
// bounded. An accepted record is well formed, but only the policy decides about membership.
func ParseRecord(data []byte) (*Record, error) {
	var w wireRecord
	if err := decode(data, &w); err != nil {
		return nil, err
	}
	if w.Version != version {
		return nil, fmt.Errorf("version %d; this program knows %d", w.Version, version)
	}
	r := &Record{Name: w.Name}
	err := CheckName(w.Name)
	if err == nil {
		r.PublicKey, err = ParseKey(w.PublicKey)
	}
	if err == nil {
		r.Endpoints, err = parseEndpoints(w.Endpoints)
	}
	if err == nil {
		r.AllowedIPs, err = parsePrefixes(w.AllowedIPs)
	}
	if err == nil && w.Grant != nil {
		r.Grant, err = w.Grant.grant()
	}
	if err != nil {
		return nil, err
	}
	return r, r.goesOutside()
}

// goesOutside returns an error if an endpoint is within the member's own prefixes. Outer packets to
// such an endpoint would enter the tunnel in a loop.
func (r *Record) goesOutside() error {
	for _, e := range r.Endpoints {
		if within(r.AllowedIPs, netip.PrefixFrom(e.Addr(), e.Addr().BitLen())) {
			return fmt.Errorf("endpoint %v is among the allowed IPs", e)
		}
	}
	return nil
}

// Format returns the record as text for ParseRecord, without a line end.
func (r *Record) Format() []byte {
	w := wireRecord{
		Version: version, Name: r.Name, PublicKey: r.PublicKey.String(),
		Endpoints: texts(r.Endpoints), AllowedIPs: texts(r.AllowedIPs),
	}
	if r.Grant != nil {
		w.Grant = r.Grant.wire()
	}
	return encode(w)
}

// same reports whether two records describe the same peer, so that their files are equal.
func (r *Record) same(o *Record) bool { return bytes.Equal(r.Format(), o.Format()) }

// decode parses a single JSON value, and refuses unknown keys and trailing text.
func decode(data []byte, v any) error {
	if len(data) > MaxRecord {
		return fmt.Errorf("%d bytes; at most %d are allowed", len(data), MaxRecord)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return errors.New("not the JSON of a member: " + shown(err.Error()))
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is text after the JSON")
	}
	return nil
}

// maxShown bounds the length of foreign text in an error.
const maxShown = 120

// shown converts a foreign text so that it can be part of a log line without harm.
func shown(s string) string {
	s = s[:min(len(s), maxShown)]
	return string(bytes.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, []byte(s)))
}

// Encoding cannot fail, because the types contain only text and numbers.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// Claimed returns a record of the grant's member that claims everything that the grant allows.
func (g *Grant) Claimed(endpoints []netip.AddrPort) *Record {
	return &Record{Name: g.Name, PublicKey: g.PublicKey, Endpoints: slices.Clone(endpoints), AllowedIPs: g.AllowedIPs, Grant: g}
}
