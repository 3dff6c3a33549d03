// Package tunnel runs shipped srdtun daemons inside a test network. The srdtun command makes the
// keys, and a TOML file contains the configuration. The command "srdtun up FILE" starts a daemon.
// The package also acts as a service manager.
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

// The bounds are for a healthy daemon: to report that it is ready, to end, and to pass the first
// packet.
const (
	readyWait   = 10 * time.Second
	stopWait    = 10 * time.Second
	trafficWait = 10 * time.Second
)

// DefaultPort is the UDP port on which a node listens.
const DefaultPort = 51820

// Node is a daemon with its configuration.
type Node struct {
	Bin    string // path of the srdtun binary
	Host   *fabric.Host
	Name   string // name of the interface
	File   string // path of the configuration file
	Config Config
	// RunDir is the folder of the daemon's socket; "" means the folder that all daemons share.
	// Commands for all interfaces ask every daemon in the shared folder, and a daemon that
	// answers is not idle.
	RunDir string

	PublicKey string
	process   *fabric.Process
	restarts  []*fabric.Process
}

// names has the names of nodes that are still open.
var names = struct {
	sync.Mutex
	taken map[string]bool
}{taken: map[string]bool{}}

// takeName returns an interface name that no other open node of this process has. Several tests
// may run concurrently, and the sockets of all daemons are in one folder.
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

// NewNode makes a node with new keys on the host. The suffix has up to three letters, and
// distinguishes the node's interface from those of other nodes. If another node has the same
// name, NewNode adds a digit.
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

// command runs srdtun on the host itself, and returns its trimmed output.
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

// Start writes the configuration file, and starts the daemon. Start waits until the daemon
// notifies the service manager that it is ready.
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

// env returns the additional environment variables of the node's programs.
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

// ProfileSocket is the path of the socket on which the daemon serves profiles, if Config.Profiles
// is set.
func (n *Node) ProfileSocket() string { return n.File + ".pprof" }

// listenReady opens the socket that receives sd_notify(3) messages.
func listenReady(path string) (*net.UnixConn, error) {
	_ = os.Remove(path)
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, err
	}
	// A service may write to the socket as any user.
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

// Await sends pings until an address inside the tunnel answers.
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

// Kill sends SIGKILL to the daemon, which then cannot clean up.
func (n *Node) Kill() { n.process.Kill() }

// Stop sends SIGTERM to the daemon. Stop returns an error if the daemon does not exit with 0.
func (n *Node) Stop() error {
	if err := n.process.Stop(stopWait); err != nil {
		return fmt.Errorf("%s: %w\n%s", n.Name, err, n.process.Log.String())
	}
	return nil
}

// Down runs "srdtun down", and waits for the daemon to end.
func (n *Node) Down() error {
	if _, err := n.command("", "down", n.Name); err != nil {
		return err
	}
	if err := n.process.Wait(stopWait); err != nil {
		return fmt.Errorf("%s: %w\n%s", n.Name, err, n.process.Log.String())
	}
	return nil
}

// Running reports whether the daemon was started and has not ended.
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

// Set runs "srdtun set" with one setting.
func (n *Node) Set(setting string) error {
	_, err := n.command("", "set", n.Name, setting)
	return err
}

// Pid returns the process ID of the daemon, which must have been started.
func (n *Node) Pid() int { return n.process.Pid() }

// Log returns the output of the running daemon.
func (n *Node) Log() string { return n.process.Log.String() }

// Show returns the output of "srdtun show --json" on one line.
func (n *Node) Show() (json.RawMessage, error) {
	out, err := n.command("", "show", n.Name, "--json")
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer
	err = json.Compact(&line, []byte(out))
	return line.Bytes(), err
}

// Report returns the facts about a failure: the configuration without its keys, the status, and
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

// Close ends the daemon, if it runs, and removes the node's files.
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

// Usage reads the memory and processor time of the running daemon.
func (n *Node) Usage() (fabric.Usage, error) { return fabric.UsageOf(n.process.Pid()) }
