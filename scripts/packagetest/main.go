// Command packagetest makes the packages and tries them where people use them: in a bare
// Debian 12 with systemd as its first process. It installs the deb, starts services, restarts
// and upgrades them under load, purges, and does the same with the rpm. It also builds
// everything twice, in different folders, and compares.
//
//	packagetest [-root DIR] [-keep]      from the top of the tree, as root
//
// What is checked is in inside.go; that part runs in the Debian root.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// insideArg makes the program run its other half.
const insideArg = "inside"

// bootMost ends a run inside that hangs: all of it takes half a minute.
const bootMost = 5 * time.Minute

// Versions of the packages: the second is an upgrade of the first.
var versions = []string{"v0.9.0", "v0.9.1"}

func main() {
	if len(os.Args) == 2 && os.Args[1] == insideArg {
		os.Exit(inside())
	}
	if len(os.Args) == 4 && os.Args[1] == plantArg {
		fmt.Fprintf(os.Stderr, "packagetest: %v\n", plant(os.Args[2], os.Args[3]))
		os.Exit(1)
	}
	root := flag.String("root", "", "use this Debian root, and make it if it is not there; else a temporary one")
	flag.Parse()
	if err := outside(*root); err != nil {
		fmt.Fprintf(os.Stderr, "packagetest: %v\n", err)
		os.Exit(1)
	}
}

// outside makes packages and a root, boots it, and prints what came out.
func outside(root string) (err error) {
	// What was made is removed also when somebody interrupts: the commands below get the
	// signal as well, and end.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT)
	if os.Getuid() != 0 {
		return errors.New("a Debian root cannot be made: root is needed")
	}
	work, err := os.MkdirTemp("/var/tmp", "srdtun-package.")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if root == "" {
		root = filepath.Join(work, "root")
	}
	packages, err := buildAll(work)
	if err != nil {
		return err
	}
	if err := errors.Join(uninstalls(work), goInstalls(work), statics(work)); err != nil {
		return err
	}
	if err := bootstrap(root); err != nil {
		return err
	}
	return boot(root, work, packages)
}

// buildAll makes the packages of both versions, and the first in another folder too.
func buildAll(work string) (packages []string, err error) {
	stamp, err := output("git", "-c", "safe.directory=*", "log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	pack := func(dir, v string, programs ...string) error {
		return run(dir, "env", "SOURCE_DATE_EPOCH="+stamp, "make", "--no-print-directory", "deb", "rpm",
			"ARCHS="+runtime.GOARCH, "VERSION="+v, "DIST="+dist(v), "PROGRAMS="+strings.Join(programs, " "))
	}
	if err := pack(".", versions[0], append([]string{"srdtun"}, agents...)...); err != nil {
		return nil, err
	}
	if err := pack(".", versions[1], "srdtun"); err != nil {
		return nil, err
	}
	copied := filepath.Join(work, "elsewhere", "srdtun")
	if err := os.MkdirAll(copied, 0o755); err != nil {
		return nil, err
	}
	if err := run(".", "sh", "-c", `git -c safe.directory='*' ls-files -coz --exclude-standard | tar --null -T - -c | tar -x -C "$0"`, copied); err != nil {
		return nil, err
	}
	if err := pack(copied, versions[0], "srdtun", agents[0]); err != nil {
		return nil, err
	}
	if err := sameBytes(dist(versions[0]), filepath.Join(copied, dist(versions[0]))); err != nil {
		return nil, err
	}
	for _, v := range versions {
		for _, kind := range []string{"srdtun_*.deb", "srdtun-[0-9]*.rpm"} {
			found, err := filepath.Glob(filepath.Join(dist(v), kind))
			if err != nil || len(found) != 1 {
				return nil, fmt.Errorf("%d of %s for %s: %v", len(found), kind, v, err)
			}
			packages = append(packages, found[0])
		}
	}
	return packages, nil
}

// agents are programs with packages of their own, of the first version.
var agents = []string{"srdtun-etcd", "srdtun-k8s"}

// agentPackages are those, and what they are called in the root.
func agentPackages() (map[string]string, error) {
	v := map[string]string{}
	for _, name := range agents {
		for kind, ext := range map[string]string{name + "_*.deb": ".deb", name + "-[0-9]*.rpm": ".rpm"} {
			found, err := filepath.Glob(filepath.Join(dist(versions[0]), kind))
			if err != nil || len(found) != 1 {
				return nil, fmt.Errorf("%d of %s: %v", len(found), kind, err)
			}
			v[found[0]] = name + ext
		}
	}
	return v, nil
}

// dist is where a version's packages are made.
func dist(version string) string { return filepath.Join("out", "package-"+version) }

// sameBytes fails unless all programs and packages in a are in b, byte by byte.
func sameBytes(a, b string) error {
	files, err := filepath.Glob(filepath.Join(a, "srdtun*"))
	files = slices.DeleteFunc(files, func(f string) bool { return strings.Contains(f, agents[1]) }) // made once: it takes minutes
	if err != nil || len(files) < 4 {
		return fmt.Errorf("%d files in %s: %v", len(files), a, err)
	}
	for _, f := range files {
		if err := run(".", "cmp", f, filepath.Join(b, filepath.Base(f))); err != nil {
			return fmt.Errorf("the build is not reproducible: %w", err)
		}
	}
	fmt.Printf("ok   two builds in different folders: %d files are the same\n", len(files))
	return nil
}

func run(dir, name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Dir, c.Stderr = dir, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, text)
	}
	return text, err
}
