package rundir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The error about an unusable run directory is one line with the variable's name and the reason.
func TestRunDirectoryThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.WriteFile(at("file"), nil, 0o600))
	for name, mode := range map[string]os.FileMode{"open": 0o777, "fine": 0o755, "sticky": 0o777 | os.ModeSticky} {
		must(t, os.Mkdir(at(name), 0o755))
		must(t, os.Chmod(at(name), mode))
	}
	must(t, os.Symlink("fine", at("link")))
	for path, want := range map[string]string{
		"run": "not an absolute path", "./run": "not an absolute path", at("file"): "not a directory", at("file/below"): "not a directory",
		at("open"): "any user may replace files in it (mode 0777)", at("link"): "a symbolic link",
		"/tmp/" + strings.Repeat("x", 100): "bytes too long for the address of a socket", at("fine"): "", at("sticky"): "", at("new"): "",
	} {
		t.Setenv(Env, path)
		err := Make()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
