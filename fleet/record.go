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

// This is the version of records and grants.
const version = 1

// MaxRecord bounds a record in the discovery, in bytes. The largest valid record, with all its
// lists full, is shorter.
const MaxRecord = 16 << 10

// Record is a member's description of itself.
type Record struct {
	Name       string
	PublicKey  Key
	Endpoints  []netip.AddrPort // none: it calls, and cannot be called
	AllowedIPs []netip.Prefix   // sorted
	Grant      *Grant           // nil: members go by their allow lists
}

// wireRecord is a record in JSON.
type wireRecord struct {
	Version    int        `json:"version"`
	Name       string     `json:"name"`
	PublicKey  string     `json:"public_key"`
	Endpoints  []string   `json:"endpoints,omitempty"`
	AllowedIPs []string   `json:"allowed_ips"`
	Grant      *wireGrant `json:"grant,omitempty"`
}

// ParseRecord parses a record from any bytes. MaxRecord bounds the time for this. An accepted
// record is valid in itself; the policy decides whether it counts.
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

// goesOutside refuses endpoints within the member's own prefixes. Packets to such an endpoint
// would enter the tunnel itself, without end.
func (r *Record) goesOutside() error {
	for _, e := range r.Endpoints {
		if within(r.AllowedIPs, netip.PrefixFrom(e.Addr(), e.Addr().BitLen())) {
			return fmt.Errorf("endpoint %v is among the allowed IPs", e)
		}
	}
	return nil
}

// Format writes a record for ParseRecord, on one line without an end.
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

// decode reads one JSON value with known keys only, and nothing after it.
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

// maxShown bounds how much of a foreign text an error contains.
const maxShown = 120

// shown returns a text in a form that is safe in one line of a log.
func shown(s string) string {
	s = s[:min(len(s), maxShown)]
	return string(bytes.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, []byte(s)))
}

// The encoding cannot fail, because the types contain only text and numbers.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// Claimed returns a record for a grant's member, with everything that the grant allows.
func (g *Grant) Claimed(endpoints []netip.AddrPort) *Record {
	return &Record{Name: g.Name, PublicKey: g.PublicKey, Endpoints: slices.Clone(endpoints), AllowedIPs: g.AllowedIPs, Grant: g}
}
