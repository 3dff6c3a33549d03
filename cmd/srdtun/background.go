package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/srdtun/srdtun/overlay/control/rundir"
)

// readyFD is the descriptor on which a background process reports to the process that started it.
// It is the first of exec.Cmd.ExtraFiles.
const readyFD = 3

// report is the single line that a background process writes once it is ready or has failed.
type report struct {
	Ready bool `json:"ready"`
	// Warnings are the daemon's warnings at its start.
	Warnings []string `json:"warnings,omitempty"`

	Error string `json:"error,omitempty"`
	Code  int    `json:"code,omitempty"`
}

// startBackground runs `up` again in a new session. startBackground returns once the interface
// carries traffic, or with the error of the start.
func startBackground(ctx context.Context, arg string, f upFlags) error {
	if _, err := logFormat(f.log); err != nil {
		return err
	}
	c, err := load(arg)
	if err != nil {
		return err
	}
	if err := rundir.Make(); err != nil {
		return err
	}
	path, err := rundir.Path(c.Interface.Name, rundir.Log)
	if err != nil {
		return err
	}
	log, err := openLog(path)
	if err != nil {
		return rundir.Explain(err)
	}
	defer log.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd, err := backgroundCommand(arg, path, f)
	if err != nil {
		return errors.Join(err, w.Close())
	}
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{w}
	err = cmd.Start()
	w.Close() // now only the child has it open, so the end of the child is visible
	if err != nil {
		return err
	}
	if err := awaitReady(ctx, cmd, r, path); err != nil {
		return err
	}
	if err := canGrow(log); err != nil {
		warn([]string{fmt.Sprintf("the log %s cannot grow: %v; srdtun events %s shows the events", path, rundir.Explain(err), arg)})
	}
	warnStarted(c.Interface.Name)
	return nil
}

// backgroundCommand returns a command that runs this program again. The working directory of the
// background process is the root directory, so that it keeps no file system busy. So the paths in
// its arguments must be absolute.
func backgroundCommand(arg, log string, f upFlags) (*exec.Cmd, error) {
	args := []string{"up", "--ready-fd", strconv.Itoa(readyFD)}
	if f.log != "" {
		args = append(args, "--log", f.log)
	}
	if f.verbose {
		args = append(args, "--verbose")
	}
	paths := []struct{ flag, path string }{{"--log-file", log}, {"--pprof", f.pprof}, {"--cpuprofile", f.cpu}}
	if isFile(arg) {
		paths = append(paths, struct{ flag, path string }{"--", arg})
	}
	for _, p := range paths {
		if p.path == "" {
			continue
		}
		abs, err := filepath.Abs(p.path)
		if err != nil {
			return nil, err
		}
		args = append(args, p.flag, abs)
	}
	if !isFile(arg) {
		args = append(args, arg)
	}
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0], cmd.Dir = os.Args[0], "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, nil
}

// takeName sets the process name that top, ps and killall show. By default, the kernel uses the
// last part of the program's path, here "exe".
func takeName() {
	// If setting the name fails, the process continues without it.
	_ = os.WriteFile("/proc/self/comm", []byte(filepath.Base(os.Args[0])), 0)
}

// awaitReady waits for the report of a background process. An interrupt during the wait also ends
// the background process.
func awaitReady(ctx context.Context, cmd *exec.Cmd, r *os.File, log string) error {
	stop := context.AfterFunc(ctx, func() { cmd.Process.Signal(syscall.SIGTERM) })
	defer stop()
	var got report
	line, err := bufio.NewReader(r).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &got)
	}
	if err == nil && got.Ready {
		if len(got.Warnings) > 0 {
			warn(got.Warnings)
			fmt.Fprintf(os.Stderr, "srdtun: later warnings are in %s\n", log)
		}
		return cmd.Process.Release()
	}
	waitErr := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted before the interface was up")
	case err == nil:
		return &codedError{code: got.Code, msg: got.Error}
	}
	return fmt.Errorf("the background process ended before it was ready (%v); see %s", waitErr, log)
}

// reporter is the background process's end of the pipe. It sends one report if a process waits for
// it.
type reporter struct {
	pipe     *os.File
	warnings []string
}

func newReporter(fd int) *reporter {
	if fd <= 0 {
		return &reporter{}
	}
	return &reporter{pipe: os.NewFile(uintptr(fd), "ready")}
}

func (r *reporter) ready() { r.send(report{Ready: true, Warnings: r.warnings}) }

// warned stores warnings for the report.
func (r *reporter) warned(warnings []string) { r.warnings = append(r.warnings, warnings...) }

func (r *reporter) failed(err error) {
	r.send(report{Error: oneLine(err), Code: exitCode(err)})
}

func (r *reporter) send(what report) {
	if r.pipe == nil {
		return
	}
	// If the process that waits was killed, writing fails, but this process continues.
	if line, err := json.Marshal(what); err == nil {
		r.pipe.Write(append(line, '\n'))
	}
	r.pipe.Close()
	r.pipe = nil
}
