package rivals

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// These constants are the modules of the Go programs that are compared with srdtun.
const (
	wireguardModule = "golang.zx2c4.com/wireguard"
	nebulaModule    = "github.com/slackhq/nebula"

	// Tailscale's fork has no releases, and its tag "latest" is from 2020. The version that
	// tailscale.com v1.104.7 (2026-11-06) uses could not be fetched on 2026-11-30.
	wireguardTSModule  = "github.com/tailscale/wireguard-go"
	wireguardTSVersion = "v0.0.0-20260928213032-417aef361226"
)

// newToolchain selects a Go version that is new enough for all compared programs. The go command
// downloads this Go version.
const newToolchain = "GOTOOLCHAIN=go1.27.3+auto"

// oldestTried is the largest number of releases that are tried, from the newest to older ones.
const oldestTried = 4

// tools holds the programs that this command builds, in their newest release unless noted.
type tools struct {
	wireguard, wireguardTS, nebula, nebulaCert string
	notes                                      map[string]string // remarks, by title
	missing                                    map[string]error  // why a transport cannot run, by its name
}

// install builds the programs of the given kinds into dir. Nebula is built from the folder
// nebulaSource, or in its newest release if nebulaSource is "". If a program cannot be built here,
// the program in PATH is used.
func install(dir, nebulaSource string, kinds []string) (*tools, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	t := &tools{
		wireguard: filepath.Join(dir, "wireguard"), wireguardTS: filepath.Join(dir, "wireguard-go"),
		nebula: filepath.Join(dir, "nebula"), nebulaCert: filepath.Join(dir, "nebula-cert"),
		notes: map[string]string{}, missing: map[string]error{},
	}
	goCommand, err := findGo()
	b := builder{goCommand, dir}
	need := func(k kind, build func() error, paths map[string]*string) {
		if !slices.Contains(kinds, k.name) {
			return
		}
		buildErr := err
		if buildErr == nil {
			buildErr = build()
		}
		if buildErr != nil {
			buildErr = t.fromPath(k, buildErr, paths)
		}
		if buildErr != nil {
			t.missing[k.name] = buildErr
		}
	}
	need(wireguardGo, func() error { return b.newest(t, wireguardGo.title, wireguardModule, "") }, map[string]*string{"wireguard-go": &t.wireguard})
	need(wireguardTS, func() error { return b.pinned(t) }, nil)
	need(nebula, func() error {
		if nebulaSource != "" {
			return b.source(t, nebulaSource)
		}
		return b.newest(t, nebula.title, nebulaModule, "/cmd/nebula", "/cmd/nebula-cert")
	}, map[string]*string{"nebula": &t.nebula, "nebula-cert": &t.nebulaCert})
	t.look()
	return t, nil
}

// fromPath uses the programs in PATH after a build has failed with buildErr. If PATH lacks a
// program, the result is buildErr.
func (t *tools) fromPath(k kind, buildErr error, paths map[string]*string) error {
	if len(paths) == 0 {
		return buildErr
	}
	for name, path := range paths {
		found, err := exec.LookPath(name)
		if err != nil {
			return buildErr
		}
		*path = found
	}
	t.notes[k.title] = "the one that is installed: " + lastLine(buildErr)
	return nil
}

// mptcpSwitch is a file that exists if the kernel has MPTCP. It contains 1 if MPTCP is enabled.
const mptcpSwitch = "/proc/sys/net/mptcp/enabled"

// look records which transports cannot run, because wg(8) or the kernel's MPTCP is missing.
func (t *tools) look() {
	if _, err := exec.LookPath("wg"); err != nil {
		t.missing[wireguardGo.name], t.missing[wireguardTS.name] = err, err
	}
	if _, err := os.Stat(mptcpSwitch); err != nil {
		t.missing[mptcp.name] = err
	}
}

// able returns the entries whose transports can run, and prints the other entries.
func (t *tools) able(entries []entry) (able []entry) {
	said := map[string]bool{}
	for _, e := range entries {
		err := t.missing[e.kind.name]
		if err == nil {
			able = append(able, e)
		} else if !said[e.kind.name] {
			said[e.kind.name] = true
			fmt.Printf("%s is left out: %s\n", e.kind.title, lastLine(err))
		}
	}
	return able
}

// findGo looks for the go command in PATH and in Go's usual folder, because sudo removes that
// folder from PATH.
func findGo() (string, error) {
	path, err := exec.LookPath("go")
	if err == nil {
		return path, nil
	}
	const usual = "/usr/local/go/bin/go"
	if _, statErr := os.Stat(usual); statErr == nil {
		return usual, nil
	}
	return "", err
}

// builder builds Go programs with the command go install.
type builder struct{ goCommand, dir string }

// newest installs the packages of a module in the newest release. The newest release may require a
// newer Go version, or the module proxy may lack a part of the release. If the newest release
// cannot be built here, the newest release that can be built is installed. If there is no network,
// the program of an earlier run is used. A note records each use of an older program.
func (b builder) newest(t *tools, title, module string, packages ...string) error {
	fmt.Printf("building %s\n", title)
	err := b.install(module, packages, "latest")
	if err == nil {
		return nil
	}
	list, listErr := b.run("list", "-m", "-versions", module)
	if listErr == nil {
		var newer []string
		for _, v := range candidates(list) {
			if err = b.install(module, packages, v); err == nil {
				t.notes[title] = fmt.Sprintf("%s could not be built with %s", strings.Join(newer, ", "), runtime.Version())
				return nil
			}
			fmt.Printf("  %s cannot be built here: %s\n", v, lastLine(err))
			newer = append(newer, v)
		}
	}
	for _, p := range packages {
		if _, statErr := os.Stat(filepath.Join(b.dir, filepath.Base(module+p))); statErr != nil {
			return errors.Join(err, listErr)
		}
	}
	t.notes[title] = "of an earlier run: nothing newer could be built"
	return nil
}

// pinned builds Tailscale's fork of wireguard-go. The fork's go.mod has lines that only a main
// module may have, so "go install" refuses the fork. So pinned builds the fork as a tool of an
// empty module. If there is no network, the program of an earlier run is used.
func (b builder) pinned(t *tools) error {
	fmt.Printf("building %s\n", wireguardTS.title)
	scratch, err := fabric.Scratch()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(scratch, "wireguard-ts-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, args := range [][]string{
		{"mod", "init", "fork"}, {"get", "-tool", wireguardTSModule + "@" + wireguardTSVersion},
		{"build", "-trimpath", "-o", t.wireguardTS, wireguardTSModule},
	} {
		if _, err = b.runIn(dir, args...); err != nil {
			break
		}
	}
	if err == nil {
		return nil
	}
	if _, statErr := os.Stat(t.wireguardTS); statErr != nil {
		return err
	}
	t.notes[wireguardTS.title] = "of an earlier run: " + lastLine(err)
	return nil
}

// source builds nebula from a source folder, and records the commit.
func (b builder) source(t *tools, dir string) error {
	fmt.Printf("building %s of %s\n", nebula.title, dir)
	if _, err := b.runIn(dir, "build", "-trimpath", "-o", b.dir+string(os.PathSeparator), "./cmd/nebula", "./cmd/nebula-cert"); err != nil {
		return err
	}
	out, err := exec.Command("git", "-C", dir, "log", "-1", "--format=commit %h of %cs").Output()
	if err != nil {
		return fmt.Errorf("the commit of %s: %w", dir, err)
	}
	t.notes[nebula.title] = strings.TrimSpace(string(out))
	return nil
}

// lastLine returns the last line of an error's text, because it contains the reason.
func lastLine(err error) string {
	text := strings.TrimSpace(err.Error())
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

func (b builder) install(module string, packages []string, version string) error {
	for _, p := range packages {
		if _, err := b.run("install", "-trimpath", module+p+"@"+version); err != nil {
			return err
		}
	}
	return nil
}

// run runs the go command outside of any module.
func (b builder) run(args ...string) (string, error) { return b.runIn(os.TempDir(), args...) }

// runIn runs the go command in dir.
func (b builder) runIn(dir string, args ...string) (string, error) {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return "", err
	}
	cmd := exec.Command(b.goCommand, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOBIN="+b.dir, "CGO_ENABLED=0", "GOWORK=off", newToolchain)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return string(out), nil
}

// candidates parses "MODULE v1.0.0 v1.1.0 ..", and returns the newest releases, newest first,
// without pre-releases.
func candidates(list string) (newest []string) {
	fields := strings.Fields(list)
	for _, v := range slices.Backward(fields[min(1, len(fields)):]) {
		if !strings.Contains(v, "-") && len(newest) < oldestTried {
			newest = append(newest, v)
		}
	}
	return newest
}

// versions returns the version of each compared program, keyed by its title.
func (t *tools) versions(srdtunPath string, kinds []string) map[string]string {
	v := map[string]string{
		"srdtun": firstWords(srdtunPath, "version"),
		"iperf3": firstWords("iperf3", "--version"), "sockperf": firstWords("sockperf", "--version"),
	}
	for k, path := range map[kindName]string{{wireguardGo.name, wireguardGo.title}: t.wireguard, {wireguardTS.name, wireguardTS.title}: t.wireguardTS, {nebula.name, nebula.title}: t.nebula} {
		if !slices.Contains(kinds, k.name) {
			continue
		}
		v[k.title] = "unknown"
		if info, err := buildinfo.ReadFile(path); err == nil {
			v[k.title] = info.Main.Path + " " + info.Main.Version + ", " + info.GoVersion
		}
		if note := t.notes[k.title]; note != "" {
			v[k.title] += " (" + note + ")"
		}
	}
	return v
}

// kindName pairs the name of a transport with its title.
type kindName struct{ name, title string }

// firstWords returns the first line of a program's version output, without build details.
func firstWords(command string, args ...string) string {
	// Some programs print their version and then exit with an error.
	out, _ := exec.Command(command, args...).CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	line, _, _ = strings.Cut(line, " [")
	if line == "" {
		return "unknown"
	}
	return strings.TrimSpace(line)
}
