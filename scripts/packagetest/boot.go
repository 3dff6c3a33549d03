package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// What the root has beside Debian's smallest set: a first process and its bus, and what
// the checks call.
const included = "systemd-sysv,dbus,iproute2,rpm,passwd"

const defaultMirror = "http://deb.debian.org/debian"

// bootstrap makes a Debian 12, unless there is one.
func bootstrap(root string) error {
	if err := need("debootstrap:debootstrap", "systemd-nspawn:systemd-container"); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(root, "etc/debian_version")); err == nil {
		return nil
	}
	mirror := os.Getenv("DEBIAN_MIRROR")
	if mirror == "" {
		mirror = defaultMirror
	}
	fmt.Printf("making a Debian 12 in %s\n", root)
	_, err := output("debootstrap", "--variant=minbase", "--include="+included, "bookworm", root, mirror)
	return err
}

// need installs the Debian packages of programs that are missing.
func need(programs ...string) error {
	for _, p := range programs {
		program, pkg, _ := strings.Cut(p, ":")
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		fmt.Println("installing:", pkg)
		if err := run(".", "sh", "-c", "export DEBIAN_FRONTEND=noninteractive; "+
			"apt-get -o DPkg::Lock::Timeout=120 update -qq && apt-get -o DPkg::Lock::Timeout=120 install -y -qq --no-install-recommends "+pkg+" >&2"); err != nil {
			return err
		}
	}
	return nil
}

// unit runs the other half once the system is up, and ends the system.
const unit = `[Unit]
After=multi-user.target dbus.service
[Service]
Type=oneshot
ExecStart=/root/packagetest inside
StandardOutput=file:/root/result
StandardError=inherit
ExecStopPost=/bin/systemctl --no-block poweroff
`

// tunMajor and tunMinor are the numbers of /dev/net/tun, linux/miscdevice.h.
const (
	tunMajor = 10
	tunMinor = 200
)

// boot starts the root as a container, with the packages in it, and reports.
func boot(root, work string, packages []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// On some hosts the device is root's alone; others' have it for all.
	tun := filepath.Join(work, "tun")
	if err := errors.Join(unix.Mknod(tun, unix.S_IFCHR|0o666, int(unix.Mkdev(tunMajor, tunMinor))), os.Chmod(tun, 0o666)); err != nil {
		return err
	}
	system := filepath.Join(root, "etc/systemd/system")
	if err := errors.Join(
		copyFile(self, filepath.Join(root, "root/packagetest"), 0o755),
		os.WriteFile(filepath.Join(system, "packagetest.service"), []byte(unit), 0o644),
		os.MkdirAll(filepath.Join(system, "multi-user.target.wants"), 0o755),
		os.RemoveAll(filepath.Join(system, "multi-user.target.wants/packagetest.service")),
		os.Symlink("../packagetest.service", filepath.Join(system, "multi-user.target.wants/packagetest.service")),
		os.RemoveAll(filepath.Join(root, "root/result")),
	); err != nil {
		return err
	}
	if err := copyFile("docs/guide.md", filepath.Join(root, guide), 0o644); err != nil {
		return err
	}
	for i, p := range packages {
		if err := copyFile(p, filepath.Join(root, "root", fmt.Sprintf("srdtun-%d%s", i/2+1, filepath.Ext(p))), 0o644); err != nil {
			return err
		}
	}
	more, err := agentPackages()
	if err != nil {
		return err
	}
	for from, name := range more {
		if err := copyFile(from, filepath.Join(root, "root", name), 0o644); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), bootMost)
	defer cancel()
	c := exec.CommandContext(ctx, "systemd-nspawn", "--quiet", "--boot", "--directory="+root, "--private-network",
		"--bind="+tun+":/dev/net/tun", "--register=no", "--keep-unit", "--capability=CAP_NET_ADMIN")
	console, bootErr := c.CombinedOutput()
	result, err := os.ReadFile(filepath.Join(root, "root/result"))
	if err != nil || bootErr != nil {
		fmt.Fprintf(os.Stderr, "%s\n", console)
	}
	fmt.Printf("%s", result)
	switch {
	case bootErr != nil:
		return fmt.Errorf("systemd-nspawn: %w", bootErr)
	case err != nil:
		return err
	case !strings.Contains(string(result), ", 0 failed\n"):
		return errors.New("a check inside failed")
	}
	return nil
}

func copyFile(from, to string, mode os.FileMode) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), os.Chmod(to, mode))
}
