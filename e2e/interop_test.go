package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// interopMost bounds the run of the independent peer, which takes about a minute on an idle
// machine.
const interopMost = 4 * time.Minute

// strangers are the names of the independent peer's keys. The names with q belong to the daemon
// with AES-128. The daemons start handshakes with the peers r…, which have their own ports.
var strangers = []string{
	"p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "psk", "q1", "r1", "r2", "r3",
	"a1", "a2", "a3", "a4", "a5", "a6", "a7", "b1", "b2", "b3", "b4", "b5", "l1", "c1", "c2", "c3", "c4", "c5",
}

// pyPeer describes one key of the independent peer, in the format that its program reads.
type pyPeer struct {
	Private string `json:"private"`
	Address string `json:"address"`
	Inner   string `json:"inner"`
	Daemon  string `json:"daemon"`
	PSK     string `json:"psk,omitempty"`
	Port    int    `json:"port"`
}

// pyDaemon is a daemon under test.
type pyDaemon struct {
	Public  string `json:"public"`
	Address string `json:"address"`
	Inner   string `json:"inner"`
	Name    string `json:"name"`
	Port    int    `json:"port"`
	PID     int    `json:"pid"`
}

type pyEnv struct {
	Bin     string              `json:"bin"`
	Source  string              `json:"source"`       // folder of the helper that runs on the daemons' host
	Thin    string              `json:"thin"`         // device of the cable of 10 Mbit/s
	ThinTo  string              `json:"thin_address"` // the daemons' address there
	Daemons map[string]pyDaemon `json:"daemons"`
	Peers   map[string]pyPeer   `json:"peers"`
}

// TestIndependentPeer runs the srdtun binary against a peer that shares no code with the daemon.
// This independent peer is e2e/pypeer, which was written only from docs/wire.md. It acts first as
// an honest peer, and then as several attackers.
func TestIndependentPeer(t *testing.T) {
	side(t)
	env := interopWorld(t)
	file := filepath.Join(filepath.Dir(env.file), "pypeer.json")
	text, err := json.MarshalIndent(env.pyEnv, "", " ")
	must(t, err)
	must(t, os.WriteFile(file, text, 0o600))
	ctx, cancel := context.WithTimeout(context.Background(), interopMost)
	defer cancel()
	args := append([]string{"pypeer/main.py", file}, strings.Fields(os.Getenv("PYPEER"))...)
	cmd := env.d.B.Command(python(t), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	lines := 0
	for s := bufio.NewScanner(out); s.Scan(); lines++ {
		report(t, s.Text())
	}
	if err := cmd.Wait(); (err != nil && !t.Failed()) || lines == 0 {
		t.Errorf("the peer in Python: %v after %d checks\n%s", err, lines, stderr.String())
	}
}

// python returns a Python interpreter that has the cryptography package: the first in PATH, or else
// Debian's.
func python(t *testing.T) string {
	t.Helper()
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(p, "-c", "import cryptography").Run() == nil {
			return p
		}
	}
	t.Fatal("python3 with its cryptography package is missing: apt-get install python3-cryptography")
	return ""
}

// checkLine matches "ok NAME: what" and "FAIL NAME: why".
var checkLine = regexp.MustCompile(`^(ok|FAIL) ([a-z0-9-]+)(.*)$`)

// report runs a subtest for each line of the program.
func report(t *testing.T, line string) {
	m := checkLine.FindStringSubmatch(line)
	if m == nil {
		t.Errorf("not a check: %s", line)
		return
	}
	t.Run(m[2], func(t *testing.T) {
		t.Log(line)
		if m[1] != "ok" {
			t.Error(strings.TrimPrefix(m[3], ": "))
		}
	})
}

// interop is the test network of the independent peer.
type interop struct {
	pyEnv
	d    *fabric.Direct
	file string
}

// interopWorld connects two hosts by two cables, and the second cable carries 10 Mbit/s. Two
// daemons start on the first host. All addresses of 10.77.0.0/16 belong to the other host, which
// can therefore send from any forged address.
func interopWorld(t *testing.T) *interop {
	t.Helper()
	d := direct(t, fabric.DirectSpec{Links: 2})
	for _, c := range []struct {
		at   *fabric.Host
		line string
	}{
		{d.A, "ip route add 10.77.0.0/16 via 10.1.1.2"},
		{d.B, "ip route add local 10.77.0.0/16 dev lo"},
		{d.A, "tc qdisc add dev eth1 root tbf rate 10mbit burst 16k limit 60k"},
	} {
		f := strings.Fields(c.line)
		if _, err := c.at.Run(f[0], f[1:]...); err != nil {
			t.Fatal(err)
		}
	}
	w := &interop{d: d, pyEnv: pyEnv{
		Bin: bin, Source: d.A.Addr4().String(), Thin: "eth1", ThinTo: d.A.V4[1].String(),
		Daemons: map[string]pyDaemon{}, Peers: map[string]pyPeer{},
	}}
	w.daemon(t, "auto", tunnel.Config{MTU: 9000})
	w.daemon(t, "aes128", tunnel.Config{MTU: 9000, Cipher: "aes-128-gcm", ListenPort: tunnel.DefaultPort + 1})
	if _, err := d.A.Start(python(t), "pypeer/source.py"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	return w
}

// daemon starts a daemon that has the strangers of its kind as peers.
func (w *interop) daemon(t *testing.T, kind string, c tunnel.Config) {
	t.Helper()
	number := len(w.Daemons)
	own := netip.AddrFrom4([4]byte{10, 9, byte(number), 1})
	c.Address = []netip.Prefix{netip.PrefixFrom(own, 24)}
	c.SourcePorts = 2
	for i, name := range strangers {
		if (name[0] == 'q') != (kind == "aes128") {
			continue
		}
		key, err := ecdh.X25519().GenerateKey(rand.Reader)
		must(t, err)
		p := pyPeer{
			Private: hex.EncodeToString(key.Bytes()), Address: w.d.B.V4[0].String(), Daemon: kind, Port: 30000 + i,
			Inner: netip.AddrFrom4([4]byte{10, 9, byte(number), byte(10 + i)}).String(),
		}
		peer := tunnel.Peer{
			Name: name, PublicKey: base64.StdEncoding.EncodeToString(key.PublicKey().Bytes()),
			AllowedIPs: []netip.Prefix{netip.PrefixFrom(netip.MustParseAddr(p.Inner), 32)},
		}
		switch {
		case name == "psk":
			psk := make([]byte, 32)
			_, _ = rand.Read(psk)
			p.PSK, peer.PresharedKey = hex.EncodeToString(psk), base64.StdEncoding.EncodeToString(psk)
		case name == "c3":
			p.Address = w.d.B.V4[1].String() // over the thin cable
		case name[0] == 'r' || name[0] == 'b':
			peer.Endpoints = []netip.AddrPort{netip.AddrPortFrom(w.d.B.V4[0], uint16(p.Port))}
		}
		w.Peers[name] = p
		c.Peers = append(c.Peers, peer)
	}
	n := node(t, w.d.A, fmt.Sprint("y", number), c)
	must(t, n.Start())
	public, err := base64.StdEncoding.DecodeString(n.PublicKey)
	must(t, err)
	port := n.Config.ListenPort
	if port == 0 {
		port = tunnel.DefaultPort
	}
	w.file = n.File
	w.Daemons[kind] = pyDaemon{
		Public: hex.EncodeToString(public), Address: w.d.A.Addr4().String(), Inner: own.String(), Name: n.Name, Port: port, PID: n.Pid(),
	}
}
