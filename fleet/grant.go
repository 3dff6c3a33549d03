package fleet

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Grant is a right to be a member, signed by the fleet's key. The signature allows a key to be a
// member under a name, with the grant's prefixes and no others. A grant is not secret, because a
// copy of it gives no further rights.
type Grant struct {
	Fleet      string
	Name       string
	PublicKey  Key
	AllowedIPs []netip.Prefix // sorted
	// Within has the networks that must contain the member's endpoints. An empty list allows any
	// endpoint.
	Within []netip.Prefix
	// Issued is the time at which the member first received its right. A renewal keeps Issued,
	// because the older of two rights to the same prefix wins.
	Issued time.Time
	// Signed is the time of the signature. A deny list may end all grants that were signed before
	// a given time.
	Signed  time.Time
	Expires time.Time // zero: never

	Signature [ed25519.SignatureSize]byte
}

// stampLayout is the only valid format of a time, in UTC and with milliseconds.
const stampLayout = "2006-01-02T15:04:05.000Z"

// never is the text for a missing time.
const never = "never"

func stamp(t time.Time) string {
	if t.IsZero() {
		return never
	}
	return t.UTC().Format(stampLayout)
}

func parseStamp(s string) (time.Time, error) {
	t, err := time.Parse(stampLayout, s)
	if err != nil || stamp(t) != s {
		return time.Time{}, fmt.Errorf("%.40q is not a time such as %s", s, stampLayout)
	}
	return t, nil
}

// Text returns the text that is signed. It has one line for each field of the grant, in a fixed
// order. No field can contain a line end or a space, so two different grants never have the same
// text. Because of the first line, a signature for another purpose or version is not valid for a
// grant.
//
//	srdtun fleet grant v1
//	fleet prod
//	name db1
//	public_key xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=
//	allowed_ips 10.80.0.1/32 fd80::1/128
//	within 192.0.2.0/24
//	issued 2026-11-22T19:00:00.000Z
//	signed 2026-11-22T19:00:00.000Z
//	expires never
func (g *Grant) Text() []byte {
	var b strings.Builder
	line := func(key string, values ...string) { b.WriteString(key + " " + strings.Join(values, " ") + "\n") }
	b.WriteString("srdtun fleet grant v1\n")
	line("fleet", g.Fleet)
	line("name", g.Name)
	line("public_key", g.PublicKey.String())
	line("allowed_ips", texts(g.AllowedIPs)...)
	line("within", texts(g.Within)...)
	line("issued", stamp(g.Issued))
	line("signed", stamp(g.Signed))
	line("expires", stamp(g.Expires))
	return []byte(b.String())
}

// Sign sets the signature of g, after it has checked that g can be parsed.
func (g *Grant) Sign(key ed25519.PrivateKey) error {
	g.Issued, g.Signed, g.Expires = g.Issued.UTC().Truncate(time.Millisecond), g.Signed.UTC().Truncate(time.Millisecond), g.Expires.UTC().Truncate(time.Millisecond)
	g.Signature = [ed25519.SignatureSize]byte(ed25519.Sign(key, g.Text()))
	_, err := g.wire().grant()
	return err
}

// signedBy reports whether one of the keys made the signature of g.
func (g *Grant) signedBy(keys []ed25519.PublicKey) bool {
	text := g.Text()
	for _, k := range keys {
		if ed25519.Verify(k, text, g.Signature[:]) {
			return true
		}
	}
	return false
}

// wireGrant is the JSON form of a grant.
type wireGrant struct {
	Version    int      `json:"version"`
	Fleet      string   `json:"fleet"`
	Name       string   `json:"name"`
	PublicKey  string   `json:"public_key"`
	AllowedIPs []string `json:"allowed_ips"`
	Within     []string `json:"within,omitempty"`
	Issued     string   `json:"issued"`
	Signed     string   `json:"signed"`
	Expires    string   `json:"expires"`
	Signature  string   `json:"signature"`
}

func (g *Grant) wire() *wireGrant {
	return &wireGrant{
		Version: version, Fleet: g.Fleet, Name: g.Name, PublicKey: g.PublicKey.String(),
		AllowedIPs: texts(g.AllowedIPs), Within: texts(g.Within),
		Issued: stamp(g.Issued), Signed: stamp(g.Signed), Expires: stamp(g.Expires),
		Signature: base64.StdEncoding.EncodeToString(g.Signature[:]),
	}
}

// grant checks every field of the JSON form except the signature, which the policy checks later.
func (w *wireGrant) grant() (*Grant, error) {
	g := &Grant{Fleet: w.Fleet, Name: w.Name}
	if w.Version != version {
		return nil, fmt.Errorf("grant: version %d; this program knows %d", w.Version, version)
	}
	var errs [8]error
	errs[0], errs[1] = CheckName(w.Fleet), CheckName(w.Name)
	g.PublicKey, errs[2] = ParseKey(w.PublicKey)
	g.AllowedIPs, errs[3] = parsePrefixes(w.AllowedIPs)
	g.Within, errs[4] = parsePrefixes(w.Within)
	g.Issued, errs[5] = parseStamp(w.Issued)
	g.Signed, errs[6] = parseStamp(w.Signed)
	if w.Expires != never {
		g.Expires, errs[7] = parseStamp(w.Expires)
	}
	for i, key := range []string{"fleet", "name", "public_key", "allowed_ips", "within", "issued", "signed", "expires"} {
		if errs[i] != nil {
			return nil, fmt.Errorf("grant: %s: %w", key, errs[i])
		}
	}
	if g.Issued.After(g.Signed) {
		return nil, errors.New("grant: the time of issue is later than the time of signing")
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(w.Signature)
	if err != nil || len(raw) != ed25519.SignatureSize {
		return nil, errors.New("grant: signature: want 64 bytes in base64")
	}
	g.Signature = [ed25519.SignatureSize]byte(raw)
	return g, nil
}

// ParseGrant parses a file that the command sign has written.
func ParseGrant(data []byte) (*Grant, error) {
	var w wireGrant
	if err := decode(data, &w); err != nil {
		return nil, err
	}
	return w.grant()
}

// Format returns the grant as one line that ParseGrant accepts.
func (g *Grant) Format() []byte { return append(encode(g.wire()), '\n') }
