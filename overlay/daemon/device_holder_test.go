package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/overlay/control/rundir"
)

// If a service or a daemon started by hand already has the interface, a second start names the
// first one. A directory, a socket or a stale lock alone, even the own one, names nobody.
func TestSecondStartNamesTheFirst(t *testing.T) {
	top := t.TempDir()
	t.Setenv(rundir.Env, top)
	service := filepath.Join(top, "lab")
	must(t, os.Mkdir(service, 0o700))
	byHand, byService := filepath.Join(top, "lab"), filepath.Join(service, "lab")
	for _, socket := range []string{byHand, byService} {
		must(t, os.WriteFile(socket+rundir.Socket, nil, 0o600))
	}
	want := func(own, want string) {
		t.Helper()
		t.Setenv("RUNTIME_DIRECTORY", own)
		if got := holderOf("lab"); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("from %q: %q, want %q", own, got, want)
		}
	}
	want("", "")
	want(service, "")
	for _, c := range []struct{ lock, fromHand, fromService string }{
		{byService, "systemctl stop srdtun@lab", ""},
		{byHand, "", "srdtun down lab"},
	} {
		f, err := os.Create(c.lock + rundir.Lock)
		must(t, err)
		must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
		want("", c.fromHand)
		want(service, c.fromService)
		must(t, f.Close())
	}
}
