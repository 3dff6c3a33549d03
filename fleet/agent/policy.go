package agent

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/internal/bounded"
)

// Files contains the names of the operator's policy files. An empty name means no file. At least
// one of the fields Keys and Allow must be set.
type Files struct {
	Fleet string // the name of the fleet, which a grant must have
	Keys  string // file with the public keys that sign grants
	Allow string // allow list
	Deny  string // deny list
}

// Load reads the policy from the files.
func (f Files) Load() (p fleet.Policy, err error) {
	if f.Keys == "" && f.Allow == "" {
		return p, errors.New("nothing says who is a member: give --fleet-key or --allow")
	}
	if f.Keys != "" {
		if err := fleet.CheckName(f.Fleet); err != nil {
			return p, fmt.Errorf("the fleet's name: %w", err)
		}
	}
	p.Fleet = f.Fleet
	return p, errors.Join(
		load(f.Keys, &p.Keys, fleet.ParseFleetKeys),
		load(f.Allow, &p.Allow, fleet.ParseAllowList),
		load(f.Deny, &p.Deny, fleet.ParseDenyList),
	)
}

func load[T any](file string, to *T, parse func([]byte) (T, error)) error {
	if file == "" {
		return nil
	}
	data, err := ReadFile(file)
	if err != nil {
		return err
	}
	v, err := parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	*to = v
	return nil
}

// ReadFile reads an operator's file of at most fleet.MaxList bytes.
func ReadFile(file string) ([]byte, error) {
	return bounded.File(file, fleet.MaxList)
}

// look is the file information of a policy file when it was read.
type look struct {
	size int64
	at   time.Time
	file os.FileInfo
}

// stamps returns the current file information of each file. If it differs, the content of the file
// may have changed.
func (f Files) stamps() (v [3]look) {
	for i, name := range []string{f.Keys, f.Allow, f.Deny} {
		if name == "" {
			continue
		}
		if info, err := os.Stat(name); err == nil {
			v[i] = look{info.Size(), info.ModTime(), info}
		}
	}
	return v
}

func sameStamps(a, b [3]look) bool {
	for i := range a {
		if a[i].size != b[i].size || !a[i].at.Equal(b[i].at) || (a[i].file == nil) != (b[i].file == nil) ||
			a[i].file != nil && !os.SameFile(a[i].file, b[i].file) {
			return false
		}
	}
	return true
}
