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
	"time"

	"golang.org/x/sys/unix"
)

// included lists additions to Debian's minimal set: an init process with its bus, and the
// commands of the checks. Further additions are the contents of golang:*-bookworm for the image,
// and the other network managers.
const included = "systemd-sysv,dbus,iproute2,rpm,passwd,make,ca-certificates,iputils-ping,procps," + neighbourPackages

const defaultMirror = "http://deb.debian.org/debian"

// shareDir is the path of the shared folder in a copy of the root.
const shareDir = "/packages"

// copyMost bounds the time of a command in a copy of the root, in case it hangs. The longest
// command, the build of an image, takes minutes.
const copyMost = 15 * time.Minute

// tunMajor and tunMinor are the device numbers of /dev/net/tun (linux/miscdevice.h).
const (
	tunMajor = 10
	tunMinor = 200
)

// bootstrap installs a minimal Debian 12 at root, unless one exists.
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
	if _, err := output("debootstrap", "--variant=minbase", "--include="+included, "bookworm", root, mirror); err != nil {
		return err
	}
	return quiet(root)
}

// need installs the Debian packages of missing programs.
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

// inCopy runs a command in a copy of the root, or boots the copy if the options say so. Changes
// in the copy are in memory and vanish at its end, except in the shared folder. The results are
// the command's standard output and the console's text.
func (w *workshop) inCopy(options []string, args ...string) (out, console string, _ error) {
	// On some hosts only root may use the TUN device, and on others all users may.
	tun := filepath.Join(w.dir, "tun")
	if _, err := os.Stat(tun); err != nil {
		if err := errors.Join(unix.Mknod(tun, unix.S_IFCHR|0o666, int(unix.Mkdev(tunMajor, tunMinor))), os.Chmod(tun, 0o666)); err != nil {
			return "", "", err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), copyMost)
	defer cancel()
	c := exec.CommandContext(ctx, "systemd-nspawn", append(append([]string{
		"--quiet", "--directory=" + w.root, "--volatile=overlay", "--register=no", "--keep-unit",
		"--capability=CAP_NET_ADMIN", "--bind=" + tun + ":/dev/net/tun", "--bind=" + w.share + ":" + shareDir,
	}, options...), args...)...)
	if w.sysWritable {
		c.Env = append(os.Environ(), "SYSTEMD_NSPAWN_API_VFS_WRITABLE=1")
	}
	var stdout, stderr strings.Builder
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	return stdout.String(), stderr.String(), err
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
