package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Secrets stand where they belong and where they do not; none of them is in the report,
// and all public keys are.
func TestBugreportHasNoSecrets(t *testing.T) {
	private, psk := "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=", "FpCyhws9cxwWoV4xELtfJvjJN+zQVRPISllRWgeopVE="
	old, peer := "IFJzPPIGXtmFkLdYtIjZyqHbRUtSJWYeVOf4rvxIE3g=", "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg="
	dir := t.TempDir()
	file := filepath.Join(dir, "lab.toml")
	text := "[interface]\nname = 'srdnone'\nprivate_key = '" + private + "' # was " + old + "\naddress = '10.0.0.1/24'\n" +
		"[[peer]]\nname = 'b'\npublic_key = '" + peer + "'\npreshared_key = '" + psk + "'\nallowed_ips = '10.0.0.2/32'\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	public := writeReport(&b, file)
	got := string(redact(b.Bytes(), public))
	for _, secret := range []string{private, psk, old} {
		if strings.Contains(got, secret) {
			t.Errorf("%s is in it", secret)
		}
	}
	for _, want := range []string{peer, "private_key = '(hidden)'", "TUN device", "== doctor", "srdnone is not running", "10.0.0.2/32",
		`"srdtun@lab"`, // the unit has the name of the file, not of the device
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
}

func TestRedact(t *testing.T) {
	k := "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg="
	for in, want := range map[string]string{
		"a " + k + " b": "a (hidden) b", "x" + k: "x(hidden)", k + k: "(hidden)(hidden)", k[:43]: k[:43],
	} {
		if got := string(redact([]byte(in), nil)); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := string(redact([]byte(k), map[string]bool{k: true})); got != k {
		t.Error("a public key was taken out")
	}
}
