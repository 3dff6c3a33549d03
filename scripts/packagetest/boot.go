package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// unit runs the checks after the boot, and then shuts the system down.
const unit = `[Unit]
After=multi-user.target dbus.service
[Service]
Type=oneshot
ExecStart=` + shareDir + `/packagetest inside %s
StandardOutput=file:` + shareDir + `/result
StandardError=inherit
ExecStopPost=/bin/systemctl --no-block poweroff
`

// enter runs a group of checks in a copy of the root without a running systemd.
func (w *workshop) enter(g group) (failed int, err error) {
	report, console, err := w.inCopy([]string{"--private-network"}, append([]string{shareDir + "/packagetest"}, insideArgs(g)...)...)
	return read(g, report, console, err)
}

// boot boots a copy of the root, which then runs a group of checks.
func (w *workshop) boot(g group) (failed int, err error) {
	file := filepath.Join(w.dir, "packagetest.service")
	result := filepath.Join(w.share, "result")
	if err := errors.Join(
		os.WriteFile(file, fmt.Appendf(nil, unit, strings.Join(insideArgs(g)[1:], " ")), 0o644),
		os.RemoveAll(result),
	); err != nil {
		return 0, err
	}
	w.sysWritable = g.place == managed
	defer func() { w.sysWritable = false }()
	screen, console, err := w.inCopy([]string{"--private-network", "--boot", "--bind-ro=" + file + ":/etc/systemd/system/packagetest.service"},
		"systemd.wants=packagetest.service")
	report, readErr := os.ReadFile(result)
	return read(g, string(report), screen+console, errors.Join(err, readErr))
}

// read prints the report from a copy, and returns the number of failures in it.
func read(g group, report, console string, err error) (failed int, _ error) {
	fmt.Print(report)
	for line := range strings.Lines(report) {
		passed := 0
		if n, _ := fmt.Sscanf(line, g.kind+": %d passed, %d failed", &passed, &failed); n == 2 && passed+failed == len(g.checks) {
			return failed, nil
		}
	}
	fmt.Fprintf(os.Stderr, "%s\n", console)
	return 0, errors.Join(errors.New("the checks did not come to their end"), err)
}
