package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// dockerfile holds the parsed Dockerfile. The first stage of the Dockerfile builds the program,
// in Debian with make and Go. Each later stage of the Dockerfile is an image.
type dockerfile struct {
	stage              string
	script             []string // of the first stage
	entry, cmd, health []string
}

// image runs the steps of the Dockerfile without Docker, and then runs the program of the image.
// The check cannot test how Docker itself parses the file.
func (w *workshop) image() (note string, err error) {
	if err := bootstrap(w.root); err != nil {
		return "", err
	}
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		return "", err
	}
	context, image := filepath.Join(w.share, "context"), filepath.Join(w.share, "image")
	if err := errors.Join(os.Mkdir(context, 0o755), os.Mkdir(image, 0o755)); err != nil {
		return "", err
	}
	if err := run(".", "sh", "-c", `git -c safe.directory='*' ls-files -z | tar --null -T - -c | tar -x -C "$0"`, context); err != nil {
		return "", err
	}
	d := &dockerfile{}
	if err := d.steps(string(text)); err != nil {
		return "", err
	}
	if len(d.entry) == 0 {
		return "", errors.New("the image runs nothing")
	}
	options := []string{"--bind-ro=/etc/resolv.conf", "--bind-ro=/etc/hosts", "--bind-ro=/etc/ssl/certs/ca-certificates.crt", "--resolv-conf=off",
		"--setenv=PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	// The copy of the root uses this machine's Go and caches, because fetching and compiling take
	// minutes.
	for _, b := range []struct{ name, option, to string }{
		{"GOROOT", "--bind-ro=", "/usr/local/go"},
		{"GOCACHE", "--bind=", "/root/.cache/go-build"},
		{"GOMODCACHE", "--bind=", "/root/go/pkg/mod"},
	} {
		dir, err := output("go", "env", b.name)
		if err != nil {
			return "", err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		options = append(options, b.option+dir+":"+b.to)
	}
	for _, name := range []string{"GOPROXY", "GOSUMDB", "http_proxy", "https_proxy"} {
		if v, ok := os.LookupEnv(name); ok {
			options = append(options, "--setenv="+name+"="+v)
		}
	}
	if out, console, err := w.inCopy(options, "sh", "-euc", strings.Join(d.script, "\n")); err != nil {
		return "", fmt.Errorf("%w\n%s%s", err, out, console)
	}
	return d.runs(image)
}

func (d *dockerfile) steps(text string) error {
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if err := d.step(strings.TrimSpace(line)); err != nil {
			return err
		}
	}
	return nil
}

// step executes one line of the Dockerfile.
func (d *dockerfile) step(line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	switch step := verb + " " + d.stage; {
	case line == "" || strings.HasPrefix(line, "#"):
	case verb == "FROM" && strings.HasPrefix(rest, "golang:") && strings.Contains(rest, "-bookworm"):
		d.stage = "build"
	case verb == "FROM" && strings.HasPrefix(rest, "scratch "), verb == "FROM" && d.stage == "scratch":
		d.stage = "scratch"
	case step == "WORKDIR build":
		d.add("mkdir -p %s && cd %s", rest, rest)
	case step == "COPY build":
		for _, f := range words(rest[:strings.LastIndex(rest, " ")]) {
			d.add("cp -a %s/context/%s .", shareDir, f)
		}
	case step == "ARG build":
		d.add("export %s", rest)
	case step == "RUN build":
		d.add("(%s)", rest)
	case step == "COPY scratch":
		from := shareDir + "/context/"
		if text, ok := strings.CutPrefix(rest, "--from=build "); ok {
			from, rest = "", text
		}
		what, to, _ := strings.Cut(rest, " ")
		d.add("install -D %s%s %s/image%s", from, what, shareDir, to)
	case step == "ENTRYPOINT scratch":
		d.entry = words(rest)
	case step == "CMD scratch":
		d.cmd = words(rest)
	case step == "HEALTHCHECK scratch":
		_, command, _ := strings.Cut(rest, "CMD ")
		d.health = words(command)
	default:
		return fmt.Errorf("the step %q is not known here", line)
	}
	return nil
}

func (d *dockerfile) add(format string, args ...any) {
	d.script = append(d.script, fmt.Sprintf(format, args...))
}

// words parses a list such as ["a", "b"], or splits a line into words.
func words(list string) []string {
	return strings.Fields(strings.NewReplacer("[", "", "]", "", `"`, "", ",", " ").Replace(list))
}

// runs runs the program of an image.
func (d *dockerfile) runs(image string) (note string, err error) {
	in := func(args ...string) (string, error) {
		out, err := exec.Command("chroot", append([]string{image}, args...)...).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if out, _ := in(append(d.entry, d.cmd...)...); !strings.Contains("\n"+out, "\nUsage:") {
		return "", fmt.Errorf("%q does not say how it is used: %s", append(d.entry, d.cmd...), out)
	}
	if out, err := in(append(d.entry, "version")...); err != nil {
		return "", fmt.Errorf("version: %w: %s", err, out)
	}
	if out, err := in(d.health...); err == nil || out != "srdtun: no interface is running" {
		return "", fmt.Errorf("%q where nothing runs: %v: %s", d.health, err, out)
	}
	n := 0
	err = filepath.WalkDir(image, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			n++
		}
		return err
	})
	return fmt.Sprintf(" (%d files)", n), err
}
