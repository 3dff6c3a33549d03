package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// written creates a file with the given content and exactly the given mode.
func written(t *testing.T, name, content string, mode fs.FileMode) string {
	t.Helper()
	must(t, os.WriteFile(name, []byte(content), 0o600))
	must(t, os.Chmod(name, mode))
	return name
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := written(t, filepath.Join(dir, "lab.toml"), withKeys(`
[interface]
private_key_file = "keys/own"
[[peer]]
public_key = "$1"
preshared_key_file = "`+filepath.Join(dir, "psk")+`"
`), 0o600)
	must(t, os.Mkdir(filepath.Join(dir, "keys"), 0o755))
	written(t, filepath.Join(dir, "keys", "own"), wgPairs[0].private+"\n", 0o400)
	written(t, filepath.Join(dir, "psk"), wgPairs[2].private+" \r\n\n", 0o600)
	cfg, err := Load(file)
	must(t, err)
	if got := cfg.Interface.PrivateKey.Reveal(); got != wgPairs[0].private {
		t.Errorf("private key %s", got)
	}
	if got := cfg.Peers[0].PresharedKey.Reveal(); got != wgPairs[2].private {
		t.Errorf("preshared key %s", got)
	}
	if cfg.Interface.Name != "lab" || cfg.File != file {
		t.Errorf("got %+v", cfg)
	}
}

func TestLoadChecksTheMode(t *testing.T) {
	dir := t.TempDir()
	doc := withKeys("[interface]\nprivate_key = '$0'\n")
	for mode := fs.FileMode(0o400); mode <= 0o777; mode++ {
		file := written(t, filepath.Join(dir, "lab.toml"), doc, mode)
		_, err := Load(file)
		if mode&0o077 == 0 {
			if mode&0o400 != 0 && err != nil {
				t.Errorf("mode %04o: %v", mode, err)
			}
			continue
		}
		want := fmt.Sprintf("%s: readable or writable by group or others (mode %04o); run: chmod 600 %s", file, mode, file)
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestLoadChecksTheModeOfKeyFiles(t *testing.T) {
	dir := t.TempDir()
	secret := written(t, filepath.Join(dir, "own"), wgPairs[0].private, 0o640)
	file := written(t, filepath.Join(dir, "lab.toml"), "\n[interface]\nprivate_key_file = 'own'\n", 0o600)
	_, err := Load(file)
	want := fmt.Sprintf("%s:3: interface.private_key_file: %s: readable or writable by group or others (mode 0640); run: chmod 600 %s", file, secret, secret)
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestLoadAcceptsCredentials checks that the file mode that results from systemd's access control
// lists is accepted, but only in systemd's directory of credentials.
func TestLoadAcceptsCredentials(t *testing.T) {
	dir, doc := t.TempDir(), withKeys("[interface]\nprivate_key = '$0'\n")
	t.Setenv("CREDENTIALS_DIRECTORY", dir+"/")
	if _, err := Load(written(t, filepath.Join(dir, "lab.toml"), doc, 0o440)); err != nil {
		t.Error(err)
	}
	for _, mode := range []fs.FileMode{0o460, 0o444, 0o450} {
		if _, err := Load(written(t, filepath.Join(dir, "lab.toml"), doc, mode)); err == nil {
			t.Errorf("mode %04o is accepted", mode)
		}
	}
	if _, err := Load(written(t, filepath.Join(t.TempDir(), "lab.toml"), doc, 0o440)); err == nil {
		t.Error("a file elsewhere is accepted")
	}
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	if _, err := Load(filepath.Join(dir, "lab.toml")); err == nil {
		t.Error("a file is accepted without the directory")
	}
}

func TestLoadOfNoSuchFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lab.toml")
	_, err := Load(file)
	if !errors.Is(err, fs.ErrNotExist) || err.Error() != file+": no such file or directory" {
		t.Errorf("got %v", err)
	}
	written(t, file, "[interface]\nprivate_key_file = 'own'\n", 0o600)
	_, err = Load(file)
	want := file + ":2: interface.private_key_file: " + filepath.Join(filepath.Dir(file), "own") + ": no such file or directory"
	if !errors.Is(err, fs.ErrNotExist) || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// Load refuses files that are not regular files, and must not block on a named pipe.
func TestLoadOfNoRegularFile(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	for _, file := range []string{dir, pipe, "/dev/zero"} {
		if _, err := Load(file); err == nil || err.Error() != file+": not a regular file" {
			t.Errorf("got %v", err)
		}
	}
	_, err := Parse("s.toml", []byte("[interface]\nprivate_key_file = '"+pipe+"'\n"))
	if err == nil || !strings.HasSuffix(err.Error(), "/pipe: not a regular file") {
		t.Errorf("got %v", err)
	}
}

func TestLoadBounds(t *testing.T) {
	dir := t.TempDir()
	file := written(t, filepath.Join(dir, "lab.toml"), strings.Repeat("#", MaxFileBytes+1), 0o600)
	if _, err := Load(file); err == nil || err.Error() != file+": the file has more than 1048576 bytes" {
		t.Errorf("got %v", err)
	}
	written(t, filepath.Join(dir, "own"), wgPairs[0].private+strings.Repeat("\n", maxKeyFileBytes), 0o600)
	written(t, file, "[interface]\nprivate_key_file = 'own'\n", 0o600)
	if _, err := Load(file); err == nil || !strings.HasSuffix(err.Error(), "/own: the file has more than 1024 bytes") {
		t.Errorf("got %v", err)
	}
}

// A key file of a Windows editor is a key file.
func TestKeyFileWithAByteOrderMark(t *testing.T) {
	dir := t.TempDir()
	file := written(t, filepath.Join(dir, "lab.toml"), "[interface]\nprivate_key_file = 'own'\n", 0o600)
	written(t, filepath.Join(dir, "own"), "\ufeff"+wgPairs[0].private+"\r\n", 0o600)
	if c, err := Load(file); err != nil || c.Interface.PrivateKey.Reveal() != wgPairs[0].private {
		t.Error(err)
	}
}

func TestKeyFileWithoutKey(t *testing.T) {
	dir := t.TempDir()
	file := written(t, filepath.Join(dir, "lab.toml"), "[interface]\nprivate_key_file = 'own'\n", 0o600)
	for _, content := range []string{"", "\n", "x", "\n" + wgPairs[0].private, wgPairs[0].private + "\n#", wgPairs[0].private + wgPairs[0].private} {
		written(t, filepath.Join(dir, "own"), content, 0o600)
		_, err := Load(file)
		want := file + ":2: interface.private_key_file: " + filepath.Join(dir, "own") + ": not a key: want 44 characters of base64 that stand for 32 bytes, as wg prints them"
		if content == "" {
			want = file + ":2: interface.private_key_file: " + filepath.Join(dir, "own") + ": is empty; srdtun genkey, or genpsk, prints a key"
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
