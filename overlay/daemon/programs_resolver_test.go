package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/events"
)

// resolvedRuns imitates a running or a stopped systemd-resolved. The test's process has a /run of
// its own.
func resolvedRuns(t *testing.T, runs bool) {
	t.Helper()
	if err := os.Remove(resolved); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if !runs {
		return
	}
	must(t, os.MkdirAll(resolved, 0o755))
	t.Cleanup(func() { _ = os.Remove(resolved) })
}

const withDNS = "dns = [\"10.80.0.53\", \"corp.example\", \"fd80::53\"]\n[paths]\n"

// The daemon sets resolvers with the host's program for them. It resets them with the same program,
// even if other programs were started or stopped in between.
func TestDNS(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	for _, name := range []string{resolvectl, resolvconf} {
		script(t, dir, name, log)
	}
	path := os.Getenv("PATH")
	const rest = "SRDTUN_INTERFACE=srdd0\nthere\n"
	const byResolvconf = "resolvconf:-a tun.srdd0 -m 0 -x\nnameserver 10.80.0.53\nnameserver fd80::53\nsearch corp.example\n" + rest +
		"resolvconf:-d tun.srdd0 -f\n" + rest
	const byResolvectl = "resolvectl:dns srdd0 10.80.0.53 fd80::53\n" + rest + "resolvectl:domain srdd0 corp.example ~.\n" + rest +
		"resolvectl:revert srdd0\n" + rest
	for _, c := range []struct {
		name        string
		before, end bool // whether systemd-resolved runs at the start and at the end
		want        string
	}{
		{"resolvconf", false, false, byResolvconf},
		{"resolvectl", true, true, byResolvectl},
		{"resolved comes", false, true, byResolvconf},
		{"resolved goes", true, false, byResolvectl},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := runDir(t)
			t.Setenv("PATH", dir+":"+path)
			resolvedRuns(t, c.before)
			must(t, os.RemoveAll(log))
			before := state(t, run)
			r := up(t, parse(t, "[paths]\n", withDNS))
			resolvedRuns(t, c.end)
			r.cancel()
			r.wait()
			sameState(t, run, before)
			if got, err := os.ReadFile(log); err != nil || string(got) != c.want {
				t.Errorf("%v\n%s\nwant\n%s", err, got, c.want)
			}
		})
	}
}

// If resolvers cannot be set, the start fails with one line, and is undone.
func TestDNSThatFails(t *testing.T) {
	for tool, text := range map[string]string{
		resolvectl: "#!/bin/sh\necho \"$1\" >>$(dirname $0)/log\n[ $1 != domain ] || { echo not allowed; exit 1; }\n",
		resolvconf: "#!/bin/sh\necho \"$1\" >>$(dirname $0)/log\n[ $1 != -a ] || { echo not allowed; exit 1; }\n",
	} {
		t.Run(tool, func(t *testing.T) {
			run := runDir(t)
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, tool), []byte(text), 0o755))
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			resolvedRuns(t, tool == resolvectl)
			before := state(t, run)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err := Run(ctx, Options{Config: parse(t, "[paths]\n", withDNS), Log: func(events.Event) {}, Ready: func() { t.Error("ready") }})
			if err == nil || err.Error() != "srdd0.toml: interface.dns: "+tool+": exit status 1: not allowed" {
				t.Errorf("error %v", err)
			}
			said, err := os.ReadFile(filepath.Join(dir, "log"))
			want := map[string]string{resolvectl: "dns domain revert", resolvconf: "-a -d"}[tool]
			if got := strings.Join(strings.Fields(string(said)), " "); err != nil || got != want {
				t.Errorf("it ran %q, %v; want %q", got, err, want)
			}
			sameState(t, run, before)
		})
	}
}

// If the host has no program that sets resolvers, the daemon reports this once, with advice.
func TestDNSWithoutATool(t *testing.T) {
	run := runDir(t)
	t.Setenv("PATH", t.TempDir())
	resolvedRuns(t, false)
	before := state(t, run)
	if d := Doubts(parse(t, "[paths]\n", withDNS), time.Now()); len(d) != 1 || withoutFile(d[0]) != "interface.dns: "+errNoResolver.Error() {
		t.Errorf("check says %q", d)
	}
	err := Run(t.Context(), Options{Config: parse(t, "[paths]\n", withDNS), Log: func(events.Event) {}, Ready: func() { t.Error("ready") }})
	if err == nil || err.Error() != "srdd0.toml: interface.dns: "+errNoResolver.Error() {
		t.Errorf("error %v", err)
	}
	sameState(t, run, before)
}
