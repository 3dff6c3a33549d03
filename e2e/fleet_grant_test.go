package e2e

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// stampLayout is the format of a time in a grant: UTC with milliseconds.
const stampLayout = "2006-01-02T15:04:05.000Z"

// grantText is the text that the fleet's key signs. The text follows only the documented format,
// which shows that other programs can sign grants, too.
const grantText = `srdtun fleet grant v1
fleet prod
name %s
public_key %s
allowed_ips %s
within %s
issued %s
signed %s
expires never
`

// fleetGrant and fleetRecord have the JSON format of fleet/grant.go and fleet/record.go.
type fleetGrant struct {
	Version    int      `json:"version"`
	Fleet      string   `json:"fleet"`
	Name       string   `json:"name"`
	PublicKey  string   `json:"public_key"`
	AllowedIPs []string `json:"allowed_ips"`
	Issued     string   `json:"issued"`
	Signed     string   `json:"signed"`
	Expires    string   `json:"expires"`
	Signature  string   `json:"signature"`
}

type fleetRecord struct {
	Version    int         `json:"version"`
	Name       string      `json:"name"`
	PublicKey  string      `json:"public_key"`
	Endpoints  []string    `json:"endpoints"`
	AllowedIPs []string    `json:"allowed_ips"`
	Grant      *fleetGrant `json:"grant"`
}

// signer signs grants with the fleet's private key, without the agent's program.
type signer struct {
	key ed25519.PrivateKey
	now string
}

func newSigner(t *testing.T, k *fleetKeys) *signer {
	t.Helper()
	text, err := os.ReadFile(k.private)
	must(t, err)
	seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	must(t, err)
	return &signer{key: ed25519.NewKeyFromSeed(seed), now: time.Now().UTC().Format(stampLayout)}
}

// record returns the record of a member with one prefix and a grant for the prefix.
func (s *signer) record(name string, public [32]byte, prefix, endpoint string) *fleetRecord {
	b64 := base64.StdEncoding.EncodeToString
	g := &fleetGrant{Version: 1, Fleet: "prod", Name: name, PublicKey: b64(public[:]), AllowedIPs: []string{prefix}, Issued: s.now, Signed: s.now, Expires: "never"}
	text := fmt.Sprintf(grantText, g.Name, g.PublicKey, prefix, "", g.Issued, g.Signed)
	g.Signature = b64(ed25519.Sign(s.key, []byte(text)))
	return &fleetRecord{Version: 1, Name: name, PublicKey: g.PublicKey, Endpoints: []string{endpoint}, AllowedIPs: g.AllowedIPs, Grant: g}
}

func (r *fleetRecord) json(t *testing.T) []byte {
	t.Helper()
	data, err := json.Marshal(r)
	must(t, err)
	return data
}
