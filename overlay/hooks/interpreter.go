package hooks

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/internal/keytext"
)

// firstMost is the number of bytes of a script that the kernel reads for its first line
// (BINPRM_BUF_SIZE of linux/binfmts.h).
const firstMost = 256

// notExecuted adds to an error of execve(2) the reason in the program's file. The kernel reports a
// missing interpreter as a missing file, although the script exists.
func notExecuted(file string, err error) error {
	if !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.ENOEXEC) && !errors.Is(err, syscall.EACCES) {
		return err
	}
	if why := Unable(file); why != nil {
		return fmt.Errorf("%s: %w", keytext.Quote(file), why)
	}
	return err
}

// Unable returns the reason why the kernel cannot execute a file that exists and is executable, as
// far as the start of the file shows it.
func Unable(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return nil // execve(2) needs no permission to read
	}
	defer f.Close()
	first := make([]byte, firstMost)
	n, err := io.ReadFull(f, first)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	if bytes.IndexByte(first[:n], 0) >= 0 {
		return unableELF(f)
	}
	return unableScript(first[:n])
}

// unableScript judges the first bytes of a script.
func unableScript(first []byte) error {
	line, script := strings.CutPrefix(string(first), "#!")
	line, _, _ = strings.Cut(line, "\n")
	words := strings.Fields(strings.TrimSuffix(line, "\r"))
	if !script || len(words) == 0 {
		return errors.New("its first line names no interpreter: want one like #!/bin/sh")
	}
	if strings.HasSuffix(line, "\r") {
		return errors.New("its first line ends with CR LF, and the kernel takes the CR as a part of it: sed -i 's/\\r$//' removes it")
	}
	return interpreted("its first line", words[0])
}

// interpreted returns an error if an interpreter is not an executable file.
func interpreted(place, by string) error {
	if st, err := os.Stat(by); err != nil || st.IsDir() || st.Mode()&0o111 == 0 {
		return fmt.Errorf("%s names the interpreter %s, which is not a program here", place, keytext.Quote(by))
	}
	return nil
}

// unableELF judges a binary program. The interpreter of a dynamic program is its loader, ld.so(8).
func unableELF(f *os.File) error {
	program, err := elf.NewFile(f)
	if err != nil {
		return nil // the kernel knows more formats than this one
	}
	for _, p := range program.Progs {
		if p.Type != elf.PT_INTERP || p.Filesz > unix.PathMax {
			continue
		}
		by := make([]byte, p.Filesz)
		if _, err := io.ReadFull(p.Open(), by); err == nil {
			return interpreted("its ELF header", strings.TrimRight(string(by), "\x00"))
		}
	}
	return nil
}
