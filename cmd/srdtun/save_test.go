package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/config"
)

// Root replaces no file in a directory that another user may write to. That user could replace the
// file by a link to any other file at the same time.
func TestSaveLeavesTheOwnersFiles(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("who owns a directory is given by root")
	}
	top := t.TempDir()
	dir, file := filepath.Join(top, "peers"), filepath.Join(top, "srd0.toml")
	write := func(name, text string) {
		t.Helper()
		must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	must(t, os.Mkdir(dir, 0o755))
	write(file, "[interface]\nprivate_key = \"CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=\"\n[peers]\ndir = \""+dir+"\"\nowner = \"65534\"\n")
	write(filepath.Join(dir, "a.toml"), "[[peer]]\nname = \"a\"\npublic_key = \"AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"\nallowed_ips = [\"10.0.0.2/32\"]\n")
	edit := func() error {
		c, err := config.Load(file)
		must(t, err)
		_, err = editFiles(c, []config.Setting{{Key: "peer.a.persistent_keepalive", Value: "25"}})
		return err
	}
	if err := edit(); err != nil {
		t.Errorf("in a directory of root's: %v", err)
	}
	for _, c := range []struct {
		uid  int
		mode os.FileMode
	}{{nobodyID, 0o755}, {0, 0o777}} {
		must(t, os.Chown(dir, c.uid, 0))
		must(t, os.Chmod(dir, c.mode))
		if err := edit(); err == nil {
			t.Errorf("a directory of %d, %v", c.uid, c.mode)
		} else if c.uid != 0 && !strings.Contains(err.Error(), "not saved") {
			t.Error(err)
		}
	}
}
