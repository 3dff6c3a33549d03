// Package suites runs the tests of net/http and of golang.org/x/net/http2, once over TCP and once
// over streams of package epnet, and compares the results of each test. The tests are those of the
// installed Go. An overlay (go help build) changes package net, so that listeners and dialers of a
// test use package carrier.
package suites

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// different lists the tests whose results over a stream differ, with the reason.
var different = map[string]string{
	"TestLinuxSendfile":                  "needs the file descriptor of a TCP listener, so it is left out",
	"TestHijackAfterCloseNotifier":       "wants the type *net.TCPConn",
	"TestTransportRequestWriteRoundTrip": "counts the calls of sendfile of a *net.TCPConn",
	"TestReverseProxyWebSocketHalfTCP":   "wants the type *net.TCPConn, and dials with net.DialTCP",
}

// skipped is the test that panics without a TCP socket, and so would end all others.
const skipped = "^TestLinuxSendfile$"

// module is the module that has HTTP/2 outside of the standard library.
const module = "golang.org/x/net"

// Main runs the subcommand "bench suites".
func Main(args []string) error {
	f := flag.NewFlagSet("bench suites", flag.ContinueOnError)
	source := f.String("C", ".", "the `folder` of srdtun's source")
	run := f.String("run", "", "only tests that match this `expression`, as with go test")
	if err := f.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "suites")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := suite{source: *source, dir: dir, run: *run, out: os.Stdout}
	return s.compare()
}

// suite is one comparison.
type suite struct {
	source, run string
	dir         string // temporary files
	out         io.Writer
}

func (s *suite) compare() error {
	var err error
	if s.source, err = filepath.Abs(s.source); err != nil {
		return err
	}
	root, err := s.command(s.source, "go", "env", "GOROOT")
	if err != nil {
		return err
	}
	copied, err := s.copyModule()
	if err != nil {
		return err
	}
	overlay, err := s.overlay(filepath.Join(root, "src"), copied)
	if err != nil {
		return err
	}
	tests := []string{"test", "-json", "-count", "1", "-timeout", "10m", "-skip", skipped, "-run", s.run}
	for _, f := range testFolders {
		tests = append(tests, packageOf(f))
	}
	tcp, err := s.results(tests)
	if err != nil {
		return fmt.Errorf("over TCP: %w", err)
	}
	srd, err := s.results(slices.Insert(tests, 1, "-overlay", overlay, "-tags", "epnetsuite"))
	if err != nil {
		return fmt.Errorf("over streams: %w", err)
	}
	return report(s.out, tcp, srd)
}

// copyModule copies the module of HTTP/2, because an overlay cannot add files to the module cache.
// It also writes a workspace with that copy.
func (s *suite) copyModule() (string, error) {
	from, err := s.command(filepath.Join(s.source, "bench"), "go", "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return "", err
	}
	to := filepath.Join(s.dir, "net")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return "", err
	}
	work := []string{"work", "init", to}
	for _, m := range []string{".", "bench", "lab"} {
		work = append(work, filepath.Join(s.source, m))
	}
	_, err = s.command(s.dir, "go", work...)
	return to, err
}

// command runs a program and returns what it prints.
func (s *suite) command(dir, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	out, err := c.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%v: %w: %s", c, err, failed.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
