package config

import (
	"fmt"
	"path/filepath"
)

// Load reads, parses and validates a file. The file and the key files that it
// names must be regular files that only their owner may read and write. Every
// error is an [*Error].
func Load(file string) (*Config, error) { return LoadCopy(file, file) }

// LoadCopy is Load for a file of which the service manager has handed over a copy
// (systemd.exec(5), LoadCredential=). The copy is read, and key files beside it; the
// interface is named after the file, and so are faults: that is what a person can edit.
func LoadCopy(file, from string) (*Config, error) {
	data, wide, err := readPrivate(from, MaxFileBytes)
	if err != nil {
		err = unlikely(from, err)
		return nil, &Error{File: file, Msg: err.Error(), cause: err}
	}
	c, err := parse(file, from, data)
	if c != nil {
		c.wide = wide
	}
	if c != nil && from != file {
		c.copy = from
	}
	return c, err
}

// Reread is Load of the file that c was read from. A copy that the service manager has
// handed over is one of then, so that nothing can be read again.
func (c *Config) Reread() (*Config, error) {
	if c.copy != "" {
		return nil, fmt.Errorf("this service has a copy of %s, made when it was started; systemctl reload hands over another", c.File)
	}
	return Load(c.File)
}

// Parse parses and validates the content of a file. The name gives the interface
// its name if the content does not, and key files are looked up beside it and
// checked as Load does. Every error is an [*Error].
//
// Of several faults the first in the file is reported. What is wrong by itself
// comes before what is missing or contradicts something else.
func Parse(file string, data []byte) (*Config, error) { return parse(file, file, data) }

// ParseSealed is Parse for a text that somebody else gave: it must be complete, and
// no file that it names is read.
func ParseSealed(file string, data []byte) (*Config, error) { return parse(file, sealed, data) }

// sealed stands for the place of a text that is in no directory.
const sealed = ""

// unseen stands for that of a text which was put together here: nobody can look up its lines.
const unseen = "\x00"

func parse(file, from string, data []byte) (*Config, error) {
	root, err := decode(file, data)
	if err != nil {
		return nil, err
	}
	root.doc.unseen = from == unseen
	if root.doc.sealed = from == sealed || from == unseen; !root.doc.sealed {
		root.doc.dir = filepath.Dir(from)
	}
	root.checkKeys()
	cfg := &Config{File: file}
	d := draft{
		cfg:   cfg,
		iface: root.section("interface"),
		paths: root.section("paths"),
		peers: root.sections("peer", maxPeers),
	}
	cfg.Interface = d.readInterface()
	cfg.Paths = d.readPaths()
	cfg.Transport.Cipher = root.section("transport").oneOf("cipher", DefaultCipher,
		"auto", "aes-256-gcm", "aes-128-gcm", "chacha20-poly1305")
	cfg.Order.UDP = root.section("order").oneOf("udp", DefaultUDP, "ordered", "unordered")
	cfg.Order.HoldMax = DefaultHoldMax
	cfg.Metrics = readMetrics(root.section("metrics"))
	dashboard := root.section("dashboard")
	cfg.Dashboard = readDashboard(dashboard)
	peers := root.section("peers")
	cfg.PeersDir, cfg.PeersOwner = peers.dir("dir"), peers.owner("owner")
	for _, s := range d.peers {
		cfg.Peers = append(cfg.Peers, readPeer(s, cfg.Paths.Policy))
	}
	if err := root.doc.first(); err != nil {
		return nil, err
	}
	cfg.keyFiles = root.doc.keyFiles
	d.checkWhole()
	d.checkListens(dashboard)
	if err := root.doc.first(); err != nil {
		return nil, err
	}
	return cfg, nil
}

// draft is a configuration while it is read, with the sections it came from.
type draft struct {
	cfg          *Config
	iface, paths section
	peers        []section // as long as cfg.Peers once they are read
}
