package bounded

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestBounds(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	for kind, read := range map[string]func(string, int64) ([]byte, error){"File": File, "Regular": Regular} {
		if got, err := read(name, 5); err != nil || string(got) != "12345" {
			t.Errorf("%s: %q, %v", kind, got, err)
		}
		got, err := read(name, 4)
		var long *TooLong
		if got != nil || !errors.As(err, &long) || long.Most != 4 || err.Error() != name+": the file has more than 4 bytes" {
			t.Errorf("%s of a long file: %q, %v", kind, got, err)
		}
	}
	if got, err := Head(name, 3); err != nil || string(got) != "123" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := File(name+"x", 4); !errors.Is(err, os.ErrNotExist) || strings.Count(err.Error(), name) != 1 {
		t.Error(err)
	}
	broken := errors.New("broken")
	if got, err := All(io.MultiReader(strings.NewReader("123"), failing{broken}), 9); got != nil || !errors.Is(err, broken) {
		t.Errorf("%q, %v", got, err)
	}
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

// Reading a pipe or a device returns at once, with an error.
func TestIrregularFiles(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, "/dev/zero", filepath.Dir(pipe)} {
		for kind, read := range map[string]func(string, int64) ([]byte, error){"Regular": Regular, "Head": Head} {
			if _, err := read(name, 9); !errors.Is(err, ErrIrregular) {
				t.Errorf("%s of %s: %v", kind, name, err)
			}
		}
	}
	// A pipe can be read to its end by All.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("key"); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	if got, err := All(r, 9); err != nil || string(got) != "key" {
		t.Errorf("%q, %v", got, err)
	}
}
