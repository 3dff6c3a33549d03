// Package wireguard connects the hosts of a test network by wireguard-go, or by a fork with the
// same command line and sockets. Benchmarks compare srdtun with wireguard-go and its fork. The
// package needs root, and wg in PATH.
package wireguard

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

const (
	port = 51820
	mtu  = 1420 // wg-quick's value for a tunnel over Ethernet
	// run is the folder of the programs' sockets. Each socket has the name of its interface, and
	// all namespaces share the folder.
	run = "/var/run/wireguard"
	// startWait bounds the time until the program's socket exists, and stopWait bounds the time
	// until the program ends.
	startWait = 20 * time.Second
	stopWait  = 10 * time.Second
)

// Node is a running wireguard-go program with its interface.
type Node struct {
	Host      *fabric.Host
	Interface string

	inner       netip.Addr
	public      string // base64
	key, socket string // files
	daemon      *fabric.Process
}

// Star starts the program on a hub and its spokes, and stores their keys in dir. Each spoke is a
// peer of the hub. Node i, counted from 1, has the address tunnel.Inner4(i); the hub is node 1.
// If Star fails, it returns the nodes that it has already started. The caller must close the
// returned nodes.
func Star(program, dir string, hub *fabric.Host, spokes ...*fabric.Host) ([]*Node, error) {
	var nodes []*Node
	for i, h := range append([]*fabric.Host{hub}, spokes...) {
		n := &Node{Host: h, Interface: fabric.TunnelName(fmt.Sprintf("w%d", i+1)), inner: tunnel.Inner4(i + 1)}
		nodes = append(nodes, n)
		if err := n.start(program, dir); err != nil {
			return nodes, err
		}
	}
	if err := nodes[0].configure(nodes[1:]...); err != nil {
		return nodes, err
	}
	for _, n := range nodes[1:] {
		if err := n.configure(nodes[0]); err != nil {
			return nodes, err
		}
	}
	return nodes, nil
}

// Close ends the programs of all nodes, and removes their files.
func Close(nodes []*Node) error {
	var all []error
	for _, n := range nodes {
		if n.daemon != nil {
			_ = n.daemon.Stop(stopWait) // the end by a signal is not an error
		}
		for _, f := range []string{n.key, n.socket} {
			if err := os.Remove(f); !errors.Is(err, os.ErrNotExist) {
				all = append(all, err)
			}
		}
	}
	return errors.Join(all...)
}

// Pid returns the process ID of the program.
func (n *Node) Pid() int { return n.daemon.Pid() }

// Log returns the output of the program.
func (n *Node) Log() string { return n.daemon.Log.String() }

// start makes a key, and runs the program. The running program creates the network interface.
func (n *Node) start(program, dir string) error {
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	n.public = base64.StdEncoding.EncodeToString(key.PublicKey().Bytes())
	n.key, n.socket = filepath.Join(dir, n.Interface+".key"), filepath.Join(run, n.Interface+".sock")
	if err := os.WriteFile(n.key, []byte(base64.StdEncoding.EncodeToString(key.Bytes())+"\n"), 0o600); err != nil {
		return err
	}
	if n.daemon, err = n.Host.StartWith(nil, []string{"LOG_LEVEL=error"}, program, "-f", n.Interface); err != nil {
		return err
	}
	return n.awaitSocket()
}

func (n *Node) awaitSocket() error {
	for deadline := time.Now().Add(startWait); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(n.socket); err == nil {
			return nil
		}
		select {
		case <-n.daemon.Done():
			return fmt.Errorf("the daemon ended before it made %s: %s", n.socket, n.Log())
		default:
		}
	}
	return fmt.Errorf("%s does not appear: %s", n.socket, n.Log())
}

// configure sets the key, the peers and the address of a node.
func (n *Node) configure(peers ...*Node) error {
	set := []string{"wg", "set", n.Interface, "listen-port", strconv.Itoa(port), "private-key", n.key}
	for _, p := range peers {
		set = append(set, "peer", p.public, "endpoint", netip.AddrPortFrom(p.Host.Addr4(), port).String(),
			"allowed-ips", p.inner.String()+"/32")
	}
	for _, cmd := range [][]string{
		set,
		{"ip", "addr", "add", n.inner.String() + "/24", "dev", n.Interface},
		{"ip", "link", "set", n.Interface, "mtu", strconv.Itoa(mtu), "up"},
	} {
		if _, err := n.Host.Run(cmd[0], cmd[1:]...); err != nil {
			return fmt.Errorf("%w\n%s", err, n.Log())
		}
	}
	return nil
}
