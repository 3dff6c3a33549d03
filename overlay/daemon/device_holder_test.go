package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/overlay/control/rundir"
)

// If a service or a daemon started by hand already has the interface, a second start names the
// first one.
func TestSecondStartNamesTheFirst(t *testing.T) {
	top := t.TempDir()
	service := filepath.Join(top, "lab")
	must(t, os.Mkdir(service, 0o700))
	want := func(dir, want string) {
		t.Helper()
		t.Setenv(rundir.Env, dir)
		if got := holderOf("lab"); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("from %s: %q, want %q", dir, got, want)
		}
	}
	want(top, "")
	want(service, "")
	for _, c := range []struct{ socket, from, want string }{
		{filepath.Join(service, "lab"), top, "systemctl stop srdtun@lab"},
		{filepath.Join(top, "lab"), service, "srdtun down lab"},
	} {
		must(t, os.WriteFile(c.socket+rundir.Socket, nil, 0o600))
		want(c.from, c.want)
		must(t, os.Remove(c.socket+rundir.Socket))
	}
}
