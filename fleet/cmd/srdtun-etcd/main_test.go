package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/fleet/internal/member"
)

const keyA = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE="

func TestUsage(t *testing.T) {
	list := filepath.Join(t.TempDir(), "allow")
	if err := os.WriteFile(list, []byte("a "+keyA+" 10.80.0.1/32\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		want int
	}{
		{"join", member.ExitUsage},
		{"join a", member.ExitUsage},                                                                     // no --dir
		{"join a --dir /nonexistent", member.ExitFailure},                                                // no policy
		{"join a --dir /nonexistent --lease 11s --allow " + list, member.ExitUsage},                      // longer than 10 s
		{"join b --dir /nonexistent --allow " + list, member.ExitFailure},                                // not listed
		{"join a --dir /nonexistent --prefix x --allow " + list, member.ExitUsage},                       // no slash
		{"join a --dir /nonexistent --user root --allow " + list, member.ExitUsage},                      // no password
		{"join a --dir /nonexistent --cert x --allow " + list, member.ExitUsage},                         // http
		{"join a --dir /nonexistent --address example.org:1 --allow " + list, member.ExitUsage},          // a name
		{"join a --dir /nonexistent --endpoints https://x:1 --cert x --allow " + list, member.ExitUsage}, // no key
		{"members", member.ExitFailure},
		{"sign a", member.ExitUsage},
		{"leave ../a", member.ExitUsage},
		{"--nonsense", member.ExitUsage},
	} {
		if got := run(strings.Fields(c.args)); got != c.want {
			t.Errorf("%s: exit code %d, want %d", c.args, got, c.want)
		}
	}
}
