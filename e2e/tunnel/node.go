// Package tunnel runs shipped srdtun daemons inside a fabric. The command makes the keys, and a
// TOML file the configuration. "srdtun up FILE" starts a daemon. The package also does the part
// of a service manager.
package tunnel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/overlay/control/rundir"
)

// Bounds for a healthy daemon: to report that it is ready, to end, and to pass the first
// packet.
const (
	readyWait   = 10 * time.Second
	stopWait    = 10 * time.Second
	trafficWait = 10 * time.Second
)

// DefaultPort is the port that a node listens on.
const DefaultPort = 51820

// Node is one daemon and its configuration.
type Node struct {
	Bin    string // the srdtun to run
	Host   *fabric.Host
	Name   string // of its interface
	File   string // its TOML file
	Config Config
	// RunDir is the folder of the daemon's socket; "": the folder that all daemons share. Commands
	// for other interfaces ask every daemon in the shared folder, and a daemon that answers is not
	// idle.
	RunDir string

	PublicKey string
	process   *fabric.Process
	restarts  []*fabric.Process
}

// names are the names of nodes that are not closed yet.
var names = struct {
	sync.Mutex
	taken map[string]bool
}{taken: map[string]bool{}}

// takeName returns a name for an interface that no other node of this process has. Several
// tests may run at once, and the sockets of all daemons are in one folder.
func takeName(suffix string) string {
	names.Lock()
	defer names.Unlock()
	name := fabric.TunnelName(suffix)
	for i := 1; names.taken[name]; i++ {
		name = fabric.TunnelName(suffix + strconv.Itoa(i))
	}
	names.taken[name] = true
	return name
}

func freeName(name string) {
	names.Lock()
	defer names.Unlock()
	delete(names.taken, name)
}

// NewNode makes keys for a node on the host. The suffix, of up to three letters, distinguishes
// its interface from the other nodes' interfaces. If another test has the name, a digit is
// added.
func NewNode(bin string, host *fabric.Host, suffix string, c Config) (*Node, error) {
	dir, err := fabric.Scratch()
	if err != nil {
		return nil, err
	}
	n := &Node{Bin: bin, Host: host, Name: takeName(suffix), Config: c}
	n.File = filepath.Join(dir, n.Name+".toml")
	if n.Config.PrivateKey, err = n.command("", "genkey"); err != nil {
		return nil, err
	}
	n.PublicKey, err = n.command(n.Config.PrivateKey+"\n", "pubkey")
	return n, err
}

// command runs srdtun outside the fabric and returns its output, trimmed.
func (n *Node) command(stdin string, args ...string) (string, error) {
	cmd := exec.Command(n.Bin, args...)
	cmd.Stdin, cmd.Env = strings.NewReader(stdin), append(os.Environ(), n.env()...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("srdtun %s: %w: %s", args[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}

// Start writes the configuration and starts the daemon. It waits until the daemon reports, as
// to a service manager, that it is ready.
func (n *Node) Start() error {
	if err := os.WriteFile(n.File, n.Config.TOML(), 0o600); err != nil {
		return err
	}
	ready, err := listenReady(n.File + ".notify")
	if err != nil {
		return err
	}
	defer ready.Close()
	if n.process != nil {
		n.restarts = append(n.restarts, n.process)
	}
	n.process, err = n.Host.StartWith(nil, append(n.env(), "NOTIFY_SOCKET="+n.File+".notify"), n.Bin, n.up()...)
	if err != nil {
		return err
	}
	return n.awaitReady(ready)
}

// env returns the additional environment of the node's programs.
func (n *Node) env() []string {
	if n.RunDir == "" {
		return nil
	}
	return []string{rundir.Env + "=" + n.RunDir}
}

// up returns the daemon's arguments.
func (n *Node) up() []string {
	if n.Config.Profiles {
		return []string{"up", n.File, "--pprof", n.ProfileSocket()}
	}
	return []string{"up", n.File}
}

// ProfileSocket is the path of the socket on which the daemon serves profiles, if they are
// configured.
func (n *Node) ProfileSocket() string { return n.File + ".pprof" }

// listenReady opens the socket to which sd_notify(3) writes.
func listenReady(path string) (*net.UnixConn, error) {
	_ = os.Remove(path)
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, err
	}
	// A service writes as any user.
	return c, os.Chmod(path, 0o777)
}

func (n *Node) awaitReady(ready *net.UnixConn) error {
	said := make(chan bool, 1)
	go func() {
		buf := make([]byte, 4096)
		for {
			k, err := ready.Read(buf)
			if err != nil || strings.Contains("\n"+string(buf[:k])+"\n", "\nREADY=1\n") {
				said <- err == nil
				return
			}
		}
	}()
	select {
	case <-said:
		return nil
	case <-n.process.Done():
		return fmt.Errorf("%s ended before it was ready:\n%s", n.Name, n.process.Log.String())
	case <-time.After(readyWait):
		return fmt.Errorf("%s is not ready after %v:\n%s", n.Name, readyWait, n.process.Log.String())
	}
}

// Await waits until pings to an address inside the tunnel are answered.
func (n *Node) Await(to netip.Addr) error {
	var err error
	for deadline := time.Now().Add(trafficWait); time.Now().Before(deadline); {
		if _, err = n.Host.Run("ping", "-n", "-q", "-c1", "-W1", to.String()); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("%s does not reach %s: %w", n.Name, to, err)
}

// Kill is kill -9. The daemon cannot clean up.
func (n *Node) Kill() { n.process.Kill() }

// Stop is SIGTERM. The error is of a daemon that does not exit with 0.
func (n *Node) Stop() error {
	if err := n.process.Stop(stopWait); err != nil {
		return fmt.Errorf("%s: %w\n%s", n.Name, err, n.process.Log.String())
	}
	return nil
}

// Down is "srdtun down", and waits for the daemon to end.
func (n *Node) Down() error {
	if _, err := n.command("", "down", n.Name); err != nil {
		return err
	}
	if err := n.process.Wait(stopWait); err != nil {
		return fmt.Errorf("%s: %w\n%s", n.Name, err, n.process.Log.String())
	}
	return nil
}

// Running reports whether the daemon has been started and has not ended.
func (n *Node) Running() bool {
	if n.process == nil {
		return false
	}
	select {
	case <-n.process.Done():
		return false
	default:
		return true
	}
}

// Set is "srdtun set".
func (n *Node) Set(setting string) error {
	_, err := n.command("", "set", n.Name, setting)
	return err
}

// Pid is the number of the daemon's process. The daemon must have been started.
func (n *Node) Pid() int { return n.process.Pid() }

// Log is the running daemon's output.
func (n *Node) Log() string { return n.process.Log.String() }

// Show is "srdtun show --json", on one line.
func (n *Node) Show() (json.RawMessage, error) {
	out, err := n.command("", "show", n.Name, "--json")
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer
	err = json.Compact(&line, []byte(out))
	return line.Bytes(), err
}

// Report collects all facts for a failure: the configuration without its keys, the status, and
// the logs.
func (n *Node) Report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "==== %s on %s\n", n.Name, n.Host.Name)
	c := n.Config
	c.PrivateKey, c.Peers = "(hidden)", append([]Peer(nil), c.Peers...)
	for i := range c.Peers {
		if c.Peers[i].PresharedKey != "" {
			c.Peers[i].PresharedKey = "(hidden)"
		}
	}
	b.Write(c.TOML())
	if n.Running() {
		show, err := n.Show()
		fmt.Fprintf(&b, "---- show\n%s %v\n", show, err)
	}
	for _, p := range append(n.restarts, n.process) {
		if p != nil {
			fmt.Fprintf(&b, "---- log of process %d\n%s\n", p.Pid(), p.Log.String())
		}
	}
	return b.String()
}

// Close ends the daemon, if it runs, and removes its files.
func (n *Node) Close() error {
	var err error
	if n.Running() {
		err = n.Stop()
	}
	for _, pattern := range []string{n.File + "*", "/run/srdtun/" + n.Name + ".*"} {
		files, _ := filepath.Glob(pattern)
		for _, f := range files {
			_ = os.Remove(f)
		}
	}
	freeName(n.Name)
	return err
}
