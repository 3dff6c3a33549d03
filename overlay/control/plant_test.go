package control

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// plantings is the number of times that root starts a daemon during the attack. Against weaker code
// the attack succeeded within 138 starts.
const plantings = 600

// The run directory may belong to the user of a service, who may create links in it while root
// starts a daemon there. The daemon must not change a file outside the directory.
func TestPlantedLinksLeadNowhere(t *testing.T) {
	const owner = 1234
	dir := runDir(t)
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Chown(dir, owner, owner))
	victim := filepath.Join(t.TempDir(), "victim")
	must(t, os.WriteFile(victim, []byte("x"), 0o600))
	var stop atomic.Bool
	planted := make(chan int)
	go as(owner, owner, nil, func() {
		n := 0
		for !stop.Load() {
			for _, name := range []string{"srd0.sock.new", "srd0.sock", "srd0.lock"} {
				path := filepath.Join(dir, name)
				_ = unix.Unlink(path)
				if unix.Symlink(victim, path) == nil {
					n++
				}
				_ = unix.Unlink(path)
			}
		}
		planted <- n
	})
	for range plantings {
		// Listen may fail, because the directory's owner can always disturb a start there.
		if s, err := Listen("srd0"); err == nil {
			_ = s.Close()
		}
	}
	stop.Store(true)
	t.Logf("%d links planted", <-planted)
	st, err := os.Stat(victim)
	if err != nil || st.Mode() != 0o600 {
		t.Errorf("victim: %v, %v", st.Mode(), err)
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "x" {
		t.Errorf("victim: %q, %v", b, err)
	}
}
