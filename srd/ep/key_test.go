package ep_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/srd/ep"
)

func TestKeysAreText(t *testing.T) {
	key := ep.NewKey()
	again, err := ep.ParsePrivateKey(key.Reveal())
	if err != nil || again.Public() != key.Public() {
		t.Fatalf("%v", err)
	}
	public, err := ep.ParseKey(key.Public().String())
	if err != nil || public != key.Public() {
		t.Fatalf("%v, %v", public, err)
	}
	if s := fmt.Sprint(public); s != public.String() || len(s) != 44 {
		t.Errorf("a public key prints as %s", s)
	}
	var v struct{ Key ep.PublicKey }
	b, _ := json.Marshal(struct{ Key ep.PublicKey }{public})
	if err := json.Unmarshal(b, &v); err != nil || v.Key != public {
		t.Errorf("%s: %v", b, err)
	}
	for _, bad := range []string{"", "x", strings.Repeat("A", 44), public.String()[1:], public.String() + "A"} {
		if _, err := ep.ParseKey(bad); err == nil && bad != strings.Repeat("A", 44) {
			t.Errorf("%q is taken", bad)
		}
		if _, err := ep.ParsePrivateKey(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// No verb or encoder prints a private key, and no error repeats the text of a key that
// failed to parse.
func TestPrivateKeysAreNeverPrinted(t *testing.T) {
	key := ep.NewKey()
	secret := key.Reveal()
	type hides struct{ key ep.PrivateKey }
	raw, _ := ep.ParseKey(secret) // the same bytes as a public key, if they are a valid one
	var out strings.Builder
	for _, v := range []any{key, &key, hides{key}, ep.Config{Key: key}, []ep.PrivateKey{key}, map[string]ep.PrivateKey{"x": key}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
			fmt.Fprintf(&out, verb, v)
		}
		b, err := json.Marshal(v)
		out.Write(b)
		fmt.Fprint(&out, err)
		slog.New(slog.NewTextHandler(&out, nil)).Info("key", "v", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("key", "v", v)
	}
	_, err := ep.ParsePrivateKey(secret + "A")
	fmt.Fprint(&out, err)
	_, err = ep.ParseKey(secret[1:])
	fmt.Fprint(&out, err)
	text := strings.ToLower(out.String())
	for _, s := range []string{secret, secret[1:], fmt.Sprintf("%x", raw[:8]), fmt.Sprint(raw[:4])[1:12]} {
		if strings.Contains(text, strings.ToLower(s)) && s != "" {
			t.Errorf("%q is printed", s)
		}
	}
}
