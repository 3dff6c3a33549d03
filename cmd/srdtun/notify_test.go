package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/internal/netspace"
	"github.com/srdtun/srdtun/overlay/control/rundir"
)

// notifyWait bounds the wait for a message.
const notifyWait = 20 * time.Second

// unit returns the service file's values by key.
func unit(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../systemd/srdtun@.service")
	must(t, err)
	v := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			v[key] = append(v[key], value)
		}
	}
	return v
}

// The program behaves as the settings of the service file for starts and reloads require.
func TestServiceFileFitsTheProgram(t *testing.T) {
	u := unit(t)
	start, reload := u["ExecStart"], u["ExecReload"]
	if want := []string{"/usr/bin/srdtun up %i"}; !slices.Equal(start, want) {
		t.Errorf("ExecStart=%q, want %q", start, want)
	}
	switch kind := u["Type"]; {
	case slices.Equal(kind, []string{"notify"}):
		// `systemctl reload` runs this command, which ends when the change is in force. The command
		// reads the file as root, because the daemon has only a copy from its start.
		if want := []string{"+/usr/bin/srdtun reload %i"}; !slices.Equal(reload, want) {
			t.Errorf("ExecReload=%q, want %q", reload, want)
		}
	case slices.Equal(kind, []string{"notify-reload"}):
		if len(reload) > 0 || len(u["ReloadSignal"]) > 0 {
			t.Errorf("with Type=%q the daemon is sent SIGHUP: ExecReload=%q, ReloadSignal=%q", kind, reload, u["ReloadSignal"])
		}
	default:
		t.Errorf("Type=%q, and the daemon tells when it is ready", kind)
	}
	// The process that systemd started sends the notifications itself; no child does.
	if a := u["NotifyAccess"]; !slices.Equal(a, []string{"main"}) {
		t.Errorf("NotifyAccess=%q", a)
	}
	for _, line := range append(start, reload...) {
		words := strings.Fields(line)[1:]
		if c, _, err := newRoot().Find(words); err != nil || c.Name() != words[0] {
			t.Errorf("%q is no command: %v", line, err)
		}
	}
}

// notified is a socket that stands in for the service manager's.
type notified struct {
	t *testing.T
	c *net.UnixConn
}

func listenNotify(t *testing.T) (n notified, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return notified{t, c}, path
}

// next returns the next message.
func (n notified) next() string {
	n.t.Helper()
	b := make([]byte, 4096)
	if err := n.c.SetReadDeadline(time.Now().Add(notifyWait)); err != nil {
		n.t.Fatal(err)
	}
	k, err := n.c.Read(b)
	if err != nil {
		n.t.Fatal(err)
	}
	return string(b[:k])
}

// monotonic returns the time of the clock that systemd uses for comparison, in microseconds.
func monotonic(t *testing.T) int64 {
	t.Helper()
	var now unix.Timespec
	must(t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &now))
	return now.Nano() / 1000
}

// The daemon notifies the service manager (sd_notify(3)) when servers can bind its addresses and
// its commands have run. It also does so before and after each reload, even a refused one, and at
// its end.
func TestServiceManagerIsTold(t *testing.T) {
	space := netspace.New(t)
	dir := t.TempDir()
	file, ran := filepath.Join(dir, "srd7.toml"), filepath.Join(dir, "ran")
	write := func(more string) {
		t.Helper()
		text := "[interface]\nprivate_key = \"oD1r4LpO1DCso8wyo3uhFx/dZW5TY3VxK7QRfwNYDHY=\"\naddress = [\"10.9.7.1/24\", \"fd07::1/64\"]\n" +
			fmt.Sprintf("post_up = [[\"sh\", \"-c\", \"sleep 0.3; touch %s\"]]\n", ran) + more
		must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write("")
	n, socket := listenNotify(t)
	self, err := os.Executable()
	must(t, err)
	var said bytes.Buffer
	c := exec.Command(self)
	c.Args = []string{"srdtun", "up", file}
	c.Env = append(os.Environ(), "NOTIFY_SOCKET="+socket, rundir.Env+"="+filepath.Join(dir, "run"))
	c.Stdout, c.Stderr = &said, &said
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // with a terminal SIGHUP requests no reload
	space.Must(t, c.Start)
	ended := false
	t.Cleanup(func() {
		if !ended {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
		if t.Failed() {
			t.Logf("%s", said.String())
		}
	})
	if got := n.next(); got != "READY=1" {
		t.Fatalf("first it tells %q", got)
	}
	if _, err := os.Stat(ran); err != nil {
		t.Errorf("it is ready before post_up has run: %v", err)
	}
	for _, a := range []string{"10.9.7.1:0", "[fd07::1]:0"} {
		space.Must(t, func() error {
			l, err := net.Listen("tcp", a)
			if err == nil {
				err = l.Close()
			}
			return err
		})
	}
	for _, change := range []string{"", "[paths]\npolicy = \"ecmp\"\n", "mtu = \"x\"\n"} {
		write(change)
		before := monotonic(t)
		must(t, c.Process.Signal(syscall.SIGHUP))
		first, stamp, _ := strings.Cut(n.next(), "\nMONOTONIC_USEC=")
		at, err := strconv.ParseInt(stamp, 10, 64)
		if first != "RELOADING=1" || err != nil || at < before || at > monotonic(t) {
			t.Errorf("before a reload it tells %q at %q, sent at %d: %v", first, stamp, before, err)
		}
		if got := n.next(); got != "READY=1" {
			t.Errorf("after it: %q", got)
		}
	}
	must(t, c.Process.Signal(syscall.SIGTERM))
	if got := n.next(); got != "STOPPING=1" {
		t.Errorf("at the end it tells %q", got)
	}
	ended = true
	if err := c.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	for _, want := range []string{`changed: ~ paths.policy = default -> "ecmp"`, "not changed: "} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("its log has no %q", want)
		}
	}
}
