// Command testsum runs "go test", and prints a line for each package and for each failure. With
// -details, testsum prints the measurements of each test. At the end, testsum prints a summary.
// The command fails if a test failed or was skipped, or if no test ran.
//
// If the environment contains TESTSUM_ALARM=N, testsum also writes each failure to the file
// descriptor N as soon as it happens. This is for runs in the background.
//
//	testsum [-go GO] [-details] -- arguments of go test
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	goCmd := flag.String("go", "go", "the go `command`")
	details := flag.Bool("details", false, "show every test with its log")
	flag.Parse()
	alarm, err := openAlarm(os.Getenv(alarmEnv))
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(1)
	}
	os.Exit(run(*goCmd, *details, alarm, flag.Args()))
}

// alarmEnv is the variable with the number of the descriptor for failures.
const alarmEnv = "TESTSUM_ALARM"

// openAlarm opens the descriptor with the given number. Without a number, openAlarm returns a
// writer that discards all output. Tests do not inherit the descriptor.
func openAlarm(number string) (io.Writer, error) {
	if number == "" {
		return io.Discard, nil
	}
	fd, err := strconv.Atoi(number)
	if err != nil || fd < 3 {
		return nil, fmt.Errorf("%s=%s is no descriptor from 3 on", alarmEnv, number)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
		return nil, fmt.Errorf("%s=%s: %w", alarmEnv, number, err)
	}
	return os.NewFile(uintptr(fd), "alarm"), nil
}

func run(goCmd string, details bool, alarm io.Writer, args []string) int {
	cmd := exec.Command(goCmd, append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		return 1
	}
	// Signals are caught rather than ignored, because the tests would inherit ignored signals.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		return 1
	}
	go func() {
		for s := range signals {
			// A terminal also sends the signal to go test, which tolerates a second signal.
			_ = cmd.Process.Signal(s)
		}
	}()
	s := newSummary(os.Stdout, alarm, details)
	s.read(out)
	return s.finish(cmd.Wait())
}

// event is one line from go test -json (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
	ImportPath                    string
}

// summary collects the results of a run.
type summary struct {
	out                     io.Writer
	alarm                   io.Writer // gets each failure when it happens
	details                 bool
	logs                    map[[2]string][]string // output of tests that have not passed yet
	passed, failed, skipped int
	failures, skips         []string
	built                   []string // output of the compiler since a package failed
	start                   time.Time
}

// logLines bounds the stored output of one test or package, in lines.
const logLines = 2000

func newSummary(out, alarm io.Writer, details bool) *summary {
	return &summary{out: out, alarm: alarm, details: details, logs: map[[2]string][]string{}, start: time.Now()}
}

func (s *summary) read(r io.Reader) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil {
			s.take(e)
		} else if len(line) > 0 {
			s.out.Write(line)
		}
		if err != nil {
			return
		}
	}
}

func (s *summary) take(e event) {
	key := [2]string{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(s.out, e.Output)
		if len(s.built) < logLines {
			s.built = append(s.built, e.Output)
		}
	case "output":
		if len(s.logs[key]) < logLines {
			s.logs[key] = append(s.logs[key], e.Output)
		}
	case "pass", "fail", "skip":
		s.end(e, s.logs[key])
		delete(s.logs, key)
	}
}

// end handles the end of a test, or of a package if the event names no test.
func (s *summary) end(e event, log []string) {
	name := e.Package + " " + e.Test
	switch {
	case e.Test == "" && e.Action == "fail":
		print(s.out, log)
		if !slices.ContainsFunc(s.failures, func(f string) bool { return strings.HasPrefix(f, name) }) {
			s.raise(e.Package, append(s.built, log...)) // otherwise the failures of its tests were already written
		}
		s.built = nil
		s.failures = append(s.failures, e.Package)
	case e.Test == "" && e.Action == "pass":
		fmt.Fprintf(s.out, "ok    %-60s %6.1f s\n", e.Package, e.Elapsed)
	case e.Test == "": // the package has no tests
	case e.Action == "fail":
		s.failed++
		s.failures = append(s.failures, name)
		print(s.out, log)
		s.raise(name, log)
	case e.Action == "skip":
		s.skipped++
		s.skips = append(s.skips, name)
		print(s.out, log)
	default:
		s.passed++
		if s.details {
			print(s.out, log)
		}
	}
}

// raise writes a failure to the alarm descriptor in a single write.
func (s *summary) raise(name string, log []string) {
	var b strings.Builder
	fmt.Fprintln(&b, "FAIL ", name)
	print(&b, log)
	io.WriteString(s.alarm, b.String())
}

// print prints the output of a test, without the lines that every test prints.
func print(out io.Writer, log []string) {
	for _, l := range log {
		if len(l) >= 7 && l[:7] == "=== RUN" {
			continue
		}
		fmt.Fprint(out, l)
	}
}

// finish prints the summary, and returns the exit code.
func (s *summary) finish(err error) int {
	for key, l := range s.logs { // tests that a panic or a timeout has ended
		print(s.out, l)
		if err != nil && key[1] != "" {
			s.raise(key[0]+" "+key[1]+", cut short", l)
		}
	}
	for _, f := range s.failures {
		fmt.Fprintln(s.out, "FAIL ", f)
	}
	for _, f := range s.skips {
		fmt.Fprintln(s.out, "SKIP ", f)
	}
	fmt.Fprintf(s.out, "%d passed, %d failed, %d skipped in %v\n", s.passed, s.failed, s.skipped, time.Since(s.start).Round(time.Second))
	switch {
	case err != nil || s.failed > 0 || len(s.failures) > 0:
		fmt.Fprintln(s.out, "FAIL")
	case s.skipped > 0:
		fmt.Fprintln(s.out, "FAIL: a skipped test proves nothing")
	case s.passed == 0:
		fmt.Fprintln(s.out, "FAIL: there was no test")
	default:
		fmt.Fprintln(s.out, "PASS")
		return 0
	}
	return 1
}
