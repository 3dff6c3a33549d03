package suites

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// change replaces text that occurs once in a file.
type change struct{ old, new string }

// netChanges give package net two hooks, which package carrier sets. A test of package synctest, whose
// time stands still while goroutines wait for the network, keeps TCP.
var netChanges = []change{
	{"\t\"internal/nettrace\"\n", "\t\"internal/nettrace\"\n\t\"internal/synctest\"\n"},
	{"\t\tif sd.MultipathTCP() {\n", `		if SuiteDial != nil && !synctest.IsInBubble() {
			if c, err = SuiteDial(ctx, ra); c != nil || err != nil {
				break
			}
		}
		if sd.MultipathTCP() {
`},
	{"\t\tif sl.MultipathTCP() {\n", `		if SuiteListen != nil && !synctest.IsInBubble() {
			l, err = SuiteListen(la)
		} else if sl.MultipathTCP() {
`},
	{"// ListenConfig contains", `var (
	SuiteDial   func(context.Context, *TCPAddr) (Conn, error)
	SuiteListen func(*TCPAddr) (Listener, error)
)

// ListenConfig contains`},
}

// testChanges apply to all test files. CloseWrite is a method of both kinds of connections. The
// goroutines of endpoints are no leak of a test.
var testChanges = strings.NewReplacer(
	".(*net.TCPConn).CloseWrite()", ".(interface{ CloseWrite() error }).CloseWrite()",
	`strings.Contains(stack, "runtime.goexit")`, `strings.Contains(stack, "runtime.goexit") || strings.Contains(stack, "srdtun/")`,
)

// testFolders lists the folders below GOROOT/src and the module of HTTP/2 whose tests use the network.
var testFolders = []string{"net/http", "net/http/httptest", "net/http/httputil", "net/http/httptrace", "http2", "http2/h2c"}

// packageOf returns the import path of a folder of testFolders.
func packageOf(folder string) string {
	if strings.HasPrefix(folder, "http2") {
		return module + "/" + folder
	}
	return folder
}

// overlay writes the changed files, and the JSON file for go test -overlay. It returns the name of
// the JSON file.
func (s *suite) overlay(src, copied string) (string, error) {
	replace := map[string]string{}
	put := func(path, text string) error {
		replace[path] = filepath.Join(s.dir, fmt.Sprintf("overlay%d.go", len(replace)))
		return os.WriteFile(replace[path], []byte(text), 0o600)
	}
	dial := filepath.Join(src, "net/dial.go")
	b, err := os.ReadFile(dial)
	if err != nil {
		return "", err
	}
	text := string(b)
	for _, c := range netChanges {
		if strings.Count(text, c.old) != 1 {
			return "", fmt.Errorf("%s: %q is not there once; is this another version of Go?", dial, c.old)
		}
		text = strings.Replace(text, c.old, c.new, 1)
	}
	if err := put(dial, text); err != nil {
		return "", err
	}
	for _, f := range testFolders {
		dir := filepath.Join(src, f)
		if inside, ok := strings.CutPrefix(packageOf(f), module); ok {
			dir = filepath.Join(copied, inside)
		}
		if err := changeTests(dir, put); err != nil {
			return "", err
		}
	}
	list := filepath.Join(s.dir, "overlay.json")
	b, err = json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	return list, os.WriteFile(list, b, 0o600)
}

var packageClause = regexp.MustCompile(`(?m)^package (\w+)`)

// changeTests puts the changed test files of a folder, and a new one that imports package carrier.
func changeTests(dir string, put func(path, text string) error) error {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return err
	}
	name := ""
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		// Go lets only an external test of the standard library import other modules.
		if n := packageClause.FindSubmatch(b); n != nil && (name == "" || strings.HasSuffix(string(n[1]), "_test")) {
			name = string(n[1])
		}
		if text := testChanges.Replace(string(b)); text != string(b) {
			if err := put(f, text); err != nil {
				return err
			}
		}
	}
	return put(filepath.Join(dir, "carrier_test.go"), "package "+name+"\n\nimport _ \"github.com/srdtun/srdtun/bench/suites/carrier\"\n")
}
