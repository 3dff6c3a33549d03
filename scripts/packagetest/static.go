package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"path/filepath"
)

// machines are the processor architectures of the released binaries, with Go's names.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// statics builds the binaries of a release. Each binary must be for its architecture, and must
// need no dynamic loader or library.
func (w *workshop) statics() (note string, err error) {
	dir := filepath.Join(w.dir, "release")
	if err := run(".", "make", "--no-print-directory", "dist", "DIST="+dir); err != nil {
		return "", err
	}
	for arch, want := range machines {
		if err := static(filepath.Join(dir, "srdtun-linux-"+arch), want); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf(" (%d)", len(machines)), nil
}

func static(file string, want elf.Machine) (err error) {
	f, err := elf.Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if f.Machine != want {
		return fmt.Errorf("%s is for %v, want %v", file, f.Machine, want)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			return fmt.Errorf("%s is not static: it has a %v", file, p.Type)
		}
	}
	return nil
}
