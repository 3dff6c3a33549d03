package control

import (
	"errors"
	"strings"
)

// ErrConfig means that the requested change makes the configuration invalid. ErrConfig has no
// separate text, because the error around it describes the fault.
var ErrConfig = errors.New("")

// These constants are the ways to change the running configuration.
const (
	HowReload = "reload" // read the file again; Config has its text, or the daemon reads it
	HowSync   = "sync"   // Config replaces the running configuration; the file stays
	HowAdd    = "add"    // the peers in Config are added
	HowSet    = "set"    // the keys in Settings get new values
	HowSaved  = "saved"  // the client has written the keys in Settings to the file; nothing else changes
)

// Change is a request to change the running configuration.
type Change struct {
	How      string    `json:"how"`
	Config   string    `json:"config,omitempty"` // in TOML; it names no other file
	Settings []Setting `json:"settings,omitempty"`
	// Save means that the client also writes the settings to the configuration file, and then
	// requests HowSaved. So the daemon accepts keys that need a restart.
	Save bool `json:"save,omitempty"`
}

// Setting is a key of the configuration and its value in TOML. String values may be written
// without quotes.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Difference is one key whose value has changed.
type Difference struct {
	Text string `json:"text"` // one line for a person
	Key  string `json:"key"`
	Live bool   `json:"live"` // the new value is in force; otherwise it needs a restart
}

// Changed is the result of a successful change.
type Changed struct {
	Differences []Difference
	Warnings    []string // values that are valid but look like mistakes, and refused drop-in files
}

// mastersOnly reports whether only masters may make the request. Members of the socket's group
// may read the status and choose path policies. Group members may not stop the daemon, undo
// root's settings, or read secrets.
func (r request) mastersOnly() bool {
	switch r.Op {
	case opConfig, opDown, opRestarting:
		return true
	case opChange:
		return r.Change == nil || !r.Change.policies()
	}
	return false
}

// policies reports whether the change sets only path policies, and does not save them.
func (c *Change) policies() bool {
	if c.How != HowSet || c.Save {
		return false
	}
	for _, s := range c.Settings {
		if !strings.HasSuffix(s.Key, ".policy") {
			return false
		}
	}
	return true
}

// secret reports whether a change may contain a secret.
func (c *Change) secret() bool { return c.Config != "" || len(c.Settings) > 0 && !c.policies() }
