package config

import "strings"

// IsKey reports whether text has the form of a setting's key: "section.key" or "peer.NAME.key".
func IsKey(text string) bool {
	section, rest, _ := strings.Cut(text, ".")
	dot := strings.LastIndexByte(rest, '.')
	if section == "peer" && dot <= 0 {
		return false
	}
	for _, s := range schema {
		for _, k := range s.keys {
			if s.name == section && k.name == rest[dot+1:] && (section == "peer" || dot < 0) {
				return true
			}
		}
	}
	return false
}

// LiveKeys returns the keys that a running daemon can change, as "section.key".
func LiveKeys() (v []string) {
	for _, s := range schema {
		for _, k := range s.keys {
			if k.live && !strings.HasSuffix(k.name, "_file") {
				v = append(v, s.name+"."+k.name)
			}
		}
	}
	return v
}

// KeyInfo describes a configuration key for the documentation.
type KeyInfo struct {
	Section string // header of its section in a file, such as [[peer]]
	Name    string
	Value   string // type of its value
	Default string
	Live    bool // a change takes effect without a restart
	Meaning string
}

// Keys returns all configuration keys, section by section.
func Keys() (v []KeyInfo) {
	for _, s := range schema {
		for _, k := range s.keys {
			v = append(v, KeyInfo{header(s.name), k.name, k.kind, k.absent, k.live, k.means})
		}
	}
	return v
}
