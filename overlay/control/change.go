package control

import (
	"errors"
	"strings"
)

// ErrConfig means that what was to be changed makes no sound configuration. It has no
// text of its own: the error around it says what is wrong.
var ErrConfig = errors.New("")

// The ways to change what runs.
const (
	HowReload = "reload" // the file is read again: Config, or by the daemon if that is empty
	HowSync   = "sync"   // Config in place of what runs; the file stays what it is
	HowAdd    = "add"    // the peers in Config are added
	HowSet    = "set"    // Settings
)

// Change is a request to change what runs.
type Change struct {
	How      string    `json:"how"`
	Config   string    `json:"config,omitempty"` // in TOML; it names no other file
	Settings []Setting `json:"settings,omitempty"`
	// Save says that the caller puts the settings into the file too.
	Save bool `json:"save,omitempty"`
}

// Setting is one key and its value in TOML, or the text alone where that is a string.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Difference is one key that has changed, as it was and as it is.
type Difference struct {
	Text string `json:"text"` // one line for a person
	Key  string `json:"key"`
	Live bool   `json:"live"` // it is in force; else it needs a restart
}

// mastersOnly reports whether a request is not for members of the socket's group. They may
// look, and choose path policies; what ends the daemon, undoes what root has set, or has
// secrets is not for them.
func (r request) mastersOnly() bool {
	switch r.Op {
	case opConfig, opDown, opRestarting:
		return true
	case opChange:
		return r.Change == nil || !r.Change.policies()
	}
	return false
}

// policies reports whether nothing is asked for but path policies that are not saved.
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

// secret reports whether a change may have a secret in it.
func (c *Change) secret() bool { return c.Config != "" || len(c.Settings) > 0 && !c.policies() }
