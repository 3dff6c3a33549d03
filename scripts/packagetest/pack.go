package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// The packages have two versions, and the second is an upgrade of the first.
var versions = []string{"0.9.0", "0.9.1"}

// agents are programs with their own packages, all of the first version.
var agents = []string{"srdtun-etcd", "srdtun-k8s"}

// dist returns the folder in which the packages of a version are made.
func dist(version string) string { return filepath.Join("out", "package-"+version) }

// pack makes the packages of both versions. The packages, this program and the guide go into the
// shared folder.
func (w *workshop) pack() error {
	if err := packages(".", versions[0], append([]string{"srdtun"}, agents...)...); err != nil {
		return err
	}
	if err := packages(".", versions[1], "srdtun"); err != nil {
		return err
	}
	for i, v := range versions {
		if err := w.give(v, "srdtun", fmt.Sprintf("srdtun-%d", i+1)); err != nil {
			return err
		}
	}
	for _, name := range agents {
		if err := w.give(versions[0], name, name); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return errors.Join(
		copyFile(self, filepath.Join(w.share, "packagetest"), 0o755),
		copyFile("docs/guide.md", filepath.Join(w.share, filepath.Base(guide)), 0o644))
}

// packages makes the packages of one version from the source tree at dir.
func packages(dir, version string, programs ...string) error {
	stamp, err := output("git", "-c", "safe.directory=*", "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	return run(dir, "env", "SOURCE_DATE_EPOCH="+stamp, "make", "--no-print-directory", "deb", "rpm",
		"ARCHS="+runtime.GOARCH, "VERSION="+version, "DIST="+dist(version), "PROGRAMS="+strings.Join(programs, " "))
}

// give copies the packages of a program into the shared folder, under a different name.
func (w *workshop) give(version, program, as string) error {
	for _, kind := range []string{program + "_*.deb", program + "-[0-9]*.rpm"} {
		found, err := filepath.Glob(filepath.Join(dist(version), kind))
		if err != nil || len(found) != 1 {
			return fmt.Errorf("%d of %s for %s: %v", len(found), kind, version, err)
		}
		if err := copyFile(found[0], filepath.Join(w.share, as+filepath.Ext(kind)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// shared returns the path of a package inside a copy of the root.
func shared(name string) string { return filepath.Join(shareDir, name) }

// reproduces makes the packages in two folders, and requires identical bytes. The check leaves
// out the Kubernetes agent, because a second build of client-go takes minutes.
func (w *workshop) reproduces() (note string, err error) {
	programs := []string{"srdtun", agents[0]}
	copied := filepath.Join(w.dir, "elsewhere", "srdtun")
	if err := os.MkdirAll(copied, 0o755); err != nil {
		return "", err
	}
	if err := run(".", "sh", "-c", `git -c safe.directory='*' ls-files -coz --exclude-standard | tar --null -T - -c | tar -x -C "$0"`, copied); err != nil {
		return "", err
	}
	for _, dir := range []string{".", copied} {
		if err := packages(dir, versions[0], programs...); err != nil {
			return "", err
		}
	}
	a, b := dist(versions[0]), filepath.Join(copied, dist(versions[0]))
	files, err := filepath.Glob(filepath.Join(a, "srdtun*"))
	files = slices.DeleteFunc(files, func(f string) bool { return strings.Contains(f, agents[1]) })
	if err != nil || len(files) < 4 {
		return "", fmt.Errorf("%d files in %s: %v", len(files), a, err)
	}
	for _, f := range files {
		if err := run(".", "cmp", f, filepath.Join(b, filepath.Base(f))); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf(" (%d files)", len(files)), nil
}
