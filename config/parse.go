package config

import (
	"fmt"
	"path/filepath"
)

// Load reads, parses and validates a configuration file. The file and its key files must be
// regular files that only their owner may access. A process of root loads no file that another user
// could change (ErrOthersWrite). Every error of Load is an [*Error].
func Load(file string) (*Config, error) { return LoadCopy(file, file) }

// LoadCopy loads the copy of a file that systemd passed to a service (systemd.exec(5),
// LoadCredential=). LoadCopy reads the copy, and the copies of key files in the same directory. The
// interface name and the errors refer to the original file, because the user edits that file.
func LoadCopy(file, from string) (*Config, error) {
	data, wide, err := readPrivate(from, MaxFileBytes)
	if err != nil {
		err = unlikely(from, err)
		return nil, &Error{File: file, Msg: err.Error(), cause: err}
	}
	c, err := parse(file, from, data)
	if err != nil {
		return nil, err
	}
	if c.wide = wide; from != file {
		c.copy = from
	}
	if err := c.checkWriters(from); err != nil {
		return nil, err
	}
	return c, nil
}

// Reread loads the file of c again. Reread fails for systemd's copy of a file, because the copy
// does not change with the original.
func (c *Config) Reread() (*Config, error) {
	if c.copy != "" {
		return nil, fmt.Errorf("this service has a copy of %s, made when it was started; systemctl reload gives it a new copy", c.File)
	}
	return Load(c.File)
}

// Parse parses and validates the content of a configuration file. By default, the interface has
// the name of the file. Parse also reads key files, relative to the file, and checks them as Load
// does. Every error of Parse is an [*Error].
//
// If the file has several faults, Parse returns the first. Faults of single values are reported
// before missing keys and contradictions.
func Parse(file string, data []byte) (*Config, error) {
	if len(data) > MaxFileBytes {
		return nil, &Error{File: file, Msg: fmt.Sprintf("the file has more than %d bytes", MaxFileBytes)}
	}
	return parse(file, file, data)
}

// ParseSealed parses a configuration text from another user. ParseSealed reads no key files, so the
// text must contain its keys.
func ParseSealed(file string, data []byte) (*Config, error) { return parse(file, sealed, data) }

// sealed stands for the path of a text from another user, because that text is in no directory.
const sealed = ""

// unseen stands for the path of a text that the program made. The user never sees its lines.
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
	cfg.PeersAllow = peers.allow("allow")
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

// draft is an unfinished configuration, with the sections of its file.
type draft struct {
	cfg          *Config
	iface, paths section
	peers        []section // parallel to cfg.Peers
}
