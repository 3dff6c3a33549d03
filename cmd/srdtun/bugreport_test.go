package main

import (
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
	got := string(writeReport(file))
	for _, secret := range []string{private, psk, old} {
		if strings.Contains(got, secret) {
			t.Errorf("%s is in it", secret)
		}
	}
	for _, want := range []string{peer, "private_key = (hidden)", "TUN device", "== doctor", "srdnone is not running", "10.0.0.2/32",
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
		"a " + k + " b": "a (hidden) b", "x" + k: "(hidden)", k + k: "(hidden)(hidden)", k[:43]: "(hidden)", k[:40]: "(hidden)", k[:39]: k[:39],
		strings.Repeat("09af", 16): "(hidden)", strings.NewReplacer("+", "-", "/", "_").Replace(k[:42]): "(hidden)",
	} {
		if got := string(redact([]byte(in), nil)); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := string(redact([]byte(k), map[string]bool{k: true})); got != k {
		t.Error("a public key was taken out")
	}
}

// What a person pastes wrongly is hidden wherever it stands, in files that nobody can parse,
// in drop-ins, and where a program repeats how it was called.
func TestBugreportHidesByPlace(t *testing.T) {
	private := "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk="
	sound := "[interface]\nname = 'srdnone'\nprivate_key = '" + private + "'\n"
	for _, text := range []string{
		"[interface]\nprivate_key = '" + private[:43] + "'\n",
		"[interface]\nprivate_key = \"" + private[:20] + " " + private[20:] + "\"\n",
		"[interface]\nprivate_key = " + private + "\n",
		"[interface]\nPrivateKey = " + private[:30] + "\n" + private[30:] + "\n",
		sound + "post_up = [['curl', '-u', 'admin:hunter2', '" + private[:30] + "']]\n",
		sound + "post_up = ['curl -u admin:hunter2']\n",
		sound + "pre_up = [\n['curl',\n'-u', 'admin:hunter2'],\n",
		sound + "[[peer]]\npublic_key = '" + private + "'\n",
		sound + "[peers]\ndir = 'peers'\n",
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "lab.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, "peers"), 0o755); err != nil {
			t.Fatal(err)
		}
		drop := "[[peer]]\nname = 'x'\npublic_key = 'xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg='\npreshared_key = '" + private[:41] + "'\n# hunter2\n"
		if err := os.WriteFile(filepath.Join(dir, "peers", "x.toml"), []byte(drop), 0o600); err != nil {
			t.Fatal(err)
		}
		got := string(writeReport(file))
		for i := range len(private) - 12 {
			if strings.Contains(got, private[i:i+12]) {
				t.Fatalf("a part of the key is in\n%s\nof\n%s", got, text)
			}
		}
		if strings.Contains(got, "hunter2") {
			t.Fatalf("a password is in\n%s\nof\n%s", got, text)
		}
		if !strings.Contains(got, "private_key = (hidden)") && !strings.Contains(got, "PrivateKey = (hidden)") {
			t.Errorf("it does not say that there is a key\n%s", got)
		}
	}
}

func TestReportScrubsWhatProgramsRepeat(t *testing.T) {
	r := &bugReport{words: map[string]bool{"admin:hunter2": true, "admin": true}}
	if got := string(r.scrubbed([]byte("curl: no such user: admin:hunter2, admin\n"))); got != "curl: no such user: (hidden), (hidden)\n" {
		t.Error(got)
	}
}
