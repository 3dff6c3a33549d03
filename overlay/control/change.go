package control

import (
	"errors"
	"strings"
)

// ErrConfig means that the changed configuration would be wrong. It has no text of its own:
// the error around it names the fault.
var ErrConfig = errors.New("")

// The ways to change the running configuration.
const (
	HowReload = "reload" // the file anew: its text in Config, or the daemon reads it if Config is empty
	HowSync   = "sync"   // Config replaces the running configuration; the file stays
	HowAdd    = "add"    // the peers in Config are added
	HowSet    = "set"    // Settings
)

// Change is a request to change the running configuration.
type Change struct {
	How      string    `json:"how"`
	Config   string    `json:"config,omitempty"` // in TOML; it names no other file
	Settings []Setting `json:"settings,omitempty"`
	// Save means that the caller writes the settings to the file, too.
	Save bool `json:"save,omitempty"`
}

// Setting is one key and its value in TOML. A string may come without quotes.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Difference is one changed key.
type Difference struct {
	Text string `json:"text"` // one line for a person
	Key  string `json:"key"`
	Live bool   `json:"live"` // it is in force; else it needs a restart
}

// Changed is the outcome of a change.
type Changed struct {
	Differences []Difference
	Warnings    []string // values that are valid but look like mistakes, and refused drop-in files
}

// mastersOnly reports whether a request is for masters alone. Members of the socket's group
// may look and choose path policies. They may not end the daemon, undo root's settings, or
// read secrets.
func (r request) mastersOnly() bool {
	switch r.Op {
	case opConfig, opDown, opRestarting:
		return true
	case opChange:
		return r.Change == nil || !r.Change.policies()
	}
	return false
}

// policies reports whether the change sets only path policies, without saving them.
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
