package main

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The configuration has secrets in correct and in wrong places. The report contains none of them,
// but all public keys.
func TestBugreportHasNoSecrets(t *testing.T) {
	private, psk := "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=", "FpCyhws9cxwWoV4xELtfJvjJN+zQVRPISllRWgeopVE="
	old, peer := "IFJzPPIGXtmFkLdYtIjZyqHbRUtSJWYeVOf4rvxIE3g=", "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg="
	dir := t.TempDir()
	file := filepath.Join(dir, "lab.toml")
	text := "[interface]\nname = 'srdnone'\nprivate_key = '" + private + "' # was " + old + "\naddress = '10.0.0.1/24'\n" +
		"[[peer]]\nname = 'b'\npublic_key = '" + peer + "'\npreshared_key = '" + psk + "'\nallowed_ips = '10.0.0.2/32'\n"
	must(t, os.WriteFile(file, []byte(text), 0o600))
	got := string(writeReport(file))
	for _, secret := range []string{private, psk, old} {
		if strings.Contains(got, secret) {
			t.Errorf("%s is in it", secret)
		}
	}
	for _, want := range []string{peer, "private_key = (hidden)", "TUN device", "== doctor", "srdnone is not running", "10.0.0.2/32",
		`"srdtun@lab"`, // the unit is named after the file, not after the device
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
}

func TestRedact(t *testing.T) {
	k := "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg="
	for in, want := range map[string]string{
		"a " + k + " b": "a (hidden) b", "x" + k: "(hidden)", k + k: "(hidden)(hidden)", k[:43]: "(hidden)", k[:40]: "(hidden)", k[:39]: "(hidden)", k[:27]: "(hidden)", k[:21]: k[:21],
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

// A key that is secret in one file of this host is hidden in all files, even where a public key
// belongs. The secret may be the key of another interface, or in a separate key file. It may also
// be a preshared key of a drop-in file, of a refused drop-in file, or of an invalid file.
func TestBugreportKnowsSecretsOfOtherFiles(t *testing.T) {
	keys := []string{
		"yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=", "FpCyhws9cxwWoV4xELtfJvjJN+zQVRPISllRWgeopVE=",
		"IFJzPPIGXtmFkLdYtIjZyqHbRUtSJWYeVOf4rvxIE3g=", "oD1r4LpO1DCso8wyo3uhFx/dZW5TY3VxK7QRfwNYDHY=",
		"SF6RUYhEU7YOMeMWdh0VZSQ5c7cDoyDX2lvYZVZ5mGU=",
	}
	const public = "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg="
	dir := t.TempDir()
	t.Setenv(configDirEnv, filepath.Join(dir, "etc"))
	lab := "[interface]\nname = 'srdnone'\nprivate_key = '4AnfKyNxSQhxRwpYDWlDOYmW1G6GT6GXmE2BBc5DxWg='\n[peers]\ndir = 'peers'\n"
	for _, k := range append(keys, public) {
		lab += "[[peer]]\npublic_key = '" + k + "'\n"
	}
	for name, text := range map[string]string{
		"lab.toml": lab, "etc/other.toml": "[interface]\nprivate_key = '" + keys[0] + "'\n", "beside.toml": "[interface]\nprivate_key_file = 'x.key'\n", "x.key": keys[1],
		"peers/a.toml": "[[peer]]\npublic_key = '/BLvwuvxyBp8Oc2RIRVXT8Sc2DGY8mVp1bbVxGsOqS8='\npreshared_key = '" + keys[2] + "'\n",
		"peers/b.toml": "[[peer]]\npublic_key = 'x'\npreshared_key = '" + keys[3] + "'\n", "etc/broken.toml": "[[peer]\npreshared_key = '" + keys[4] + "'\n",
	} {
		must(t, errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)))
	}
	got := string(writeReport(filepath.Join(dir, "lab.toml")))
	for _, k := range keys {
		if strings.Contains(got, k) {
			t.Errorf("%s is in it", k)
		}
	}
	if !strings.Contains(got, public) {
		t.Errorf("the public key is missing:\n%s", got)
	}
}

// Pieces of a secret are hidden in whatever file and form they are repeated. A text of another
// length in the place of a key is hidden, too.
func TestBugreportHidesPiecesOfKeys(t *testing.T) {
	const key, cut, shared = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=", "aaaabbbbccccddddeeeeffff", "IFJzPPIGXtmFkLdYtIjZyqHbRUtSJWYeVOf4rvxIE3g="
	raw, err := base64.StdEncoding.DecodeString(key)
	must(t, err)
	digits := hex.EncodeToString(raw)
	dir := t.TempDir()
	t.Setenv(configDirEnv, filepath.Join(dir, "etc"))
	names := []string{key[:16], key[5:32], key[8:44], "x" + key[10:26] + "x", digits[3:19], cut[:20], shared[20:40]}
	lab := "[interface]\nname = 'srdnone'\nprivate_key = '" + key + "'\n"
	for i, n := range names {
		lab += fmt.Sprintf("[[peer]]\nname = '%s'\npublic_key = 'x%d'\n", n, i)
	}
	for name, text := range map[string]string{"lab.toml": lab, "etc/broken.toml": "[interface\nprivate_key = '" + cut + "'\npreshard_key = " + shared + "\n"} {
		must(t, errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)))
	}
	got := string(writeReport(filepath.Join(dir, "lab.toml")))
	for _, n := range names {
		if strings.Contains(got, n) {
			t.Errorf("%q is in it", n)
		}
	}
	if !strings.Contains(got, "name = '(hidden)'") {
		t.Errorf("the names are not shown:\n%s", got)
	}
}

// A misplaced secret is hidden everywhere: in invalid files, in drop-ins, and in a program's
// copy of its command line.
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
		must(t, os.WriteFile(file, []byte(text), 0o600))
		must(t, os.Mkdir(filepath.Join(dir, "peers"), 0o755))
		drop := "[[peer]]\nname = 'x'\npublic_key = 'xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg='\npreshared_key = '" + private[:41] + "'\n# hunter2\n"
		must(t, os.WriteFile(filepath.Join(dir, "peers", "x.toml"), []byte(drop), 0o600))
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

// Secret words of a command are hidden wherever they are repeated; ordinary words are not.
func TestReportScrubsWhatProgramsRepeat(t *testing.T) {
	r := &bugReport{public: map[string]bool{}, words: map[string]bool{}}
	r.file("lab.toml", []byte("[interface]\nname = \"lab51\"\nprivate_key = \"correct horse\"\npost_up = [\n"+
		"[\"curl\", \"-u\", \"admin:hunter2\", \"https://joe:swordfish@host.example/up?token=abcdef&x=tunnel\"],\n"+
		"[\"logger\", \"tunnel\", \"started\", \"on\", \"lab51\"],\n[\"sh\", \"-c\", \"x --password=open,sesame; PGPASSWORD=Trust1 y\"],\n"+
		"[\"x\", \"--api-token\", \"sesame/two\", \"Authorization: Bearer xyz.opq\"],\n"+
		"[\"ip\", \"route\", \"add\", \"10.9.0.0/16\", \"dev\", \"lo\", \"table\", \"main\"]]\n"), nil, func(string) bool { return true }, 1)
	for in, want := range map[string]string{
		"curl: no such user: admin:hunter2":                  "curl: no such user: (hidden)",
		"user admin, password hunter2":                       "user admin, password (hidden)",
		"hunter23 is another":                                "hunter23 is another",
		"joe:swordfish or swordfish":                         "(hidden) or (hidden)",
		"token abcdef and sesame/two and xyz.opq and Trust1": "token (hidden) and (hidden) and (hidden) and (hidden)",
		"correct horse: correct, horse":                      "(hidden) (hidden): (hidden), (hidden)",
		"the tunnel lab51 has started on host.example":       "the tunnel lab51 has started on host.example",
		"10.9.0.0/16 dev lo table main":                      "10.9.0.0/16 dev lo table main",
	} {
		if got := string(r.scrubbed([]byte(in))); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// The report leaves out all output of commands. It keeps their exit codes, and the messages of
// srdtun and of the service manager.
func TestReportLeavesOutWhatCommandsSay(t *testing.T) {
	for in, want := range map[string]string{
		"2026-11-28 20:00:00.000 info    note: curl: YWRtaW46aHVudGVyMg\n":                                          "2026-11-28 20:00:00.000 info    note: curl: (hidden)\n",
		"srdtun: lab.toml:4: interface.post_up: curl: exit status 22: 2retnuh\nx\n":                                 "srdtun: lab.toml:4: interface.post_up: curl: exit status 22: (hidden)\nx\n",
		"interface.pre_down: curl: signal: killed: 2retnuh":                                                         "interface.pre_down: curl: signal: killed: (hidden)",
		"interface.post_up: ping: operation not permitted: its file has CAP_NET_RAW":                                "interface.post_up: ping: operation not permitted: its file has CAP_NET_RAW",
		"Nov 28 20:00:00 host srdtun[12]: started: lab is up\n":                                                     "Nov 28 20:00:00 host srdtun[12]: started: lab is up\n",
		"Nov 28 20:00:00 host systemd[1]: Started srdtun@lab.service\nNov  8 20:00:00 host root[9]: 2retnuh\n  x\n": "Nov 28 20:00:00 host systemd[1]: Started srdtun@lab.service\nNov  8 20:00:00 host root[9]: (hidden)\n (hidden)\n",
		"No journal files were found.\n-- Boot 12 --\n":                                                             "No journal files were found.\n-- Boot 12 --\n",
	} {
		if got := string(withoutOutput(withoutOthers([]byte(in)))); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// A user other than root may own the drop-in directory, while root writes the report. The report
// opens none of the owner's links, devices or pipes, and no file that the owner may not read.
func TestBugreportOpensNothingOfTheOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const owner = 4711
	top, err := os.MkdirTemp("", "r") // a longer name has the form of a key
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(top) })
	dir, secret := filepath.Join(top, "fleet"), filepath.Join(top, "secret.toml")
	file := filepath.Join(top, "lab.toml")
	const words = "[[peer]]\nname = \"swordfish\"\n"
	for name, text := range map[string]string{secret: words, file: "[interface]\nprivate_key = 'yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk='\n[peers]\ndir = '" + dir + "'\nowner = 4711\n"} {
		must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	own := "[[peer]]\nname = \"mine\"\npublic_key = \"xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=\"\npost_up = [[\"" + secret + "\"]]\n"
	must(t, errors.Join(os.Mkdir(dir, 0o755), os.Symlink(secret, in("a.toml")), unix.Mkfifo(in("b.toml"), 0o600), os.Symlink("/dev/zero", in("c.toml")),
		unix.Mknod(in("d.toml"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))), os.Link(secret, in("e.toml")), os.Mkdir(in("f.toml"), 0o700),
		os.WriteFile(in("g.toml"), []byte(own), 0o600), os.Truncate(in("g.toml"), 1<<40), os.WriteFile(in("h.toml"), []byte(own), 0o600)))
	for _, name := range []string{"", "a.toml", "b.toml", "c.toml", "d.toml", "f.toml", "g.toml", "h.toml"} {
		must(t, os.Lchown(in(name), owner, owner))
	}
	got := string(writeReport(file))
	if strings.Contains(got, "swordfish") || len(got) > 1<<20 {
		t.Errorf("what he may not read is in it:\n%.2000s", got)
	}
	for _, want := range []string{
		in("a.toml") + "\nis a link", in("b.toml") + "\nnot a regular file", in("c.toml") + "\nis a link", in("d.toml") + "\nnot a regular file",
		in("e.toml") + "\nhas several names", in("f.toml") + "\nnot a regular file", in("g.toml") + "\nthe file has more than", "name = \"mine\"", "post_up = [(hidden)]",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%.4000s", want, got)
		}
	}
}
