package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFaultNamesThePlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.toml")
	for doc, want := range map[string]string{
		"[interface]\nname = \"t\"\nlisten_port = 7\n": "t.toml:3: interface.listen_port: port 7 is taken",
		"# none\n[interface]\nname = \"t\"\n":          "t.toml:2: interface.listen_port: port 7 is taken",
	} {
		must(t, os.WriteFile(file, []byte(doc), 0o600))
		c := Config{File: file}
		if got := c.Fault("interface", "listen_port", "port %d is taken", 7).Error(); !strings.HasSuffix(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := (&Config{File: "/nowhere"}).Fault("a", "b", "c").Error(); got != "/nowhere: a.b: c" {
		t.Error(got)
	}
}
