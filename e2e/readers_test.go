package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
	"github.com/srdtun/srdtun/overlay/control"
)

const (
	// stranger is a user of the host without privileges.
	stranger = 4444
	// readerWait bounds the time until a reader gets an answer, whatever a stranger does. It is
	// shorter than any timeout of the listeners, so the answer cannot depend on a timeout.
	readerWait = 3 * time.Second
)

// asStranger opens a connection as the user stranger.
func asStranger(h *fabric.Host, network, at string) (c net.Conn, err error) {
	err = h.Do(func() (err error) {
		// The IDs belong only to this thread, which keeps only the stranger's group.
		if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); e != 0 {
			return e
		}
		if err := errors.Join(unix.Setfsgid(stranger), unix.Setfsuid(stranger)); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, unix.Setfsuid(0), unix.Setfsgid(0)) }()
		c, err = net.DialTimeout(network, at, readerWait)
		return err
	})
	return c, err
}

// pester opens connections as the stranger, sends text on each, and reads nothing.
func pester(t *testing.T, h *fabric.Host, at, text string, times int) {
	t.Helper()
	for range times {
		c, err := asStranger(h, "tcp", at)
		must(t, err)
		t.Cleanup(func() { c.Close() })
		_, _ = io.WriteString(c, text)
	}
}

// reader returns an HTTP client that acts as root, and waits at most readerWait.
func reader(h *fabric.Host, network, at string) *http.Client {
	return &http.Client{Timeout: readerWait, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return h.Dial(network, at, readerWait) },
	}}
}

// answered fails the test unless a request for url is answered in time.
func answered(t *testing.T, c *http.Client, url, want string) {
	t.Helper()
	r, err := c.Get(url)
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Body.Close()
	if text, err := io.ReadAll(r.Body); err != nil || r.StatusCode != http.StatusOK || !strings.Contains(string(text), want) {
		t.Errorf("%s: %s, %d bytes, %v", url, r.Status, len(text), err)
	}
}

// TestStrangerKeepsNobodyFromMetricsAndDashboard lets a user of the host occupy all connection
// slots, in each possible way, while root reads.
func TestStrangerKeepsNobodyFromMetricsAndDashboard(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	n := node(t, f.A(1), "a", tunnel.Config{Extra: "\n[metrics]\nlisten = \"" + metricsAt + "\"\n[dashboard]\nlisten = \"" + pageAt + "\"\n"})
	must(t, n.Start())
	const half, ask, stream = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "GET /stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
	for _, c := range []struct {
		what, at, text string
		times          int
	}{
		{"half-open scrapes", metricsAt, half, 40}, {"scrapes that nobody reads", metricsAt, ask + ask, 40},
		{"connections that say nothing", metricsAt, "", 40},
		{"bodies that never come", metricsAt, strings.Replace(half, "X: ", "Content-Length: 9\r\n\r\n", 1), 40},
		{"pages that nobody reads", pageAt, stream, 12}, {"half-open pages", pageAt, half, 40}, {"silence", pageAt, "", 40},
	} {
		pester(t, n.Host, c.at, c.text, c.times)
		t.Run(c.what, func(t *testing.T) {
			answered(t, reader(n.Host, "tcp", metricsAt), "http://"+metricsAt+"/metrics", "srdtun_info")
			answered(t, reader(n.Host, "tcp", pageAt), "http://"+pageAt+"/", "<!doctype html>")
			watch(t, n.Host, "", 2)
		})
	}
	// An open page must stay open, however often the stranger connects again.
	t.Run("pages again and again", func(t *testing.T) {
		watch(t, n.Host, stream, 4)
	})
	if out, err := n.Host.Run(bin, "events", n.Name, "--json"); err != nil || !strings.Contains(out, `"kind":"reader-gave-way"`) || !strings.Contains(out, "one of user 4444") {
		t.Errorf("nobody is told: %v\n%s", err, out)
	}
}

// watch opens a page as root, and requires `want` samples. Meanwhile a stranger repeatedly sends
// text, unless text is "".
func watch(t *testing.T, h *fabric.Host, text string, want int) {
	t.Helper()
	c := reader(h, "tcp", pageAt)
	c.Timeout += time.Duration(want) * time.Second
	r, err := c.Get("http://" + pageAt + "/stream")
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Error(r.Status)
		return
	}
	last := time.Now()
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, 1<<20)
	for want > 0 {
		if text != "" {
			pester(t, h, pageAt, text, 10)
		}
		for lines.Scan() && lines.Text() == "" {
		}
		if !strings.HasPrefix(lines.Text(), "data: {") {
			t.Errorf("%.60q, %v: %d samples are missing", lines.Text(), lines.Err(), want)
			return
		}
		if time.Since(last) > 100*time.Millisecond { // not of the past
			want--
		}
		last = time.Now()
	}
}

// TestMetricsOnAUnixSocket tests that only users in the socket's group can connect.
func TestMetricsOnAUnixSocket(t *testing.T) {
	f := network(t, fabric.Spec{})
	n := node(t, f.A(1), "a", tunnel.Config{})
	at := "/run/srdtun/" + n.Name + ".metrics"
	page := "/run/srdtun/" + n.Name + ".page"
	n.Config.Extra = fmt.Sprintf("\n[metrics]\nlisten = \"unix:%s\"\n[dashboard]\nlisten = \"unix:%s\"\n", at, page)
	for range 2 { // then with a killed one's remains
		must(t, n.Start())
		st, err := os.Lstat(at)
		if err != nil || st.Mode() != fs.ModeSocket|0o660 {
			t.Errorf("%v, %v", st, err)
		}
		answered(t, reader(n.Host, "unix", at), "http://localhost/metrics", "srdtun_info")
		answered(t, reader(n.Host, "unix", page), "http://hub.example/", "<!doctype html>")
		for _, path := range []string{at, page} {
			if c, err := asStranger(n.Host, "unix", path); !errors.Is(err, unix.EACCES) {
				t.Errorf("a stranger at %s: %v, %v", path, c, err)
			}
		}
		n.Kill()
	}
	t.Setenv(control.GroupEnv, "nogroup")
	must(t, n.Start())
	if out, err := n.Host.Run("setpriv", "--reuid", "4444", "--regid", "nogroup", "--clear-groups", "curl", "-s", "--unix-socket", at, "http://localhost/metrics"); err != nil || !strings.Contains(out, "srdtun_info") {
		t.Errorf("a member of the group: %v, %d bytes", err, len(out))
	}
	must(t, n.Stop())
	for _, path := range []string{at, page} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left behind: %v", path, err)
		}
	}
}
