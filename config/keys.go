package config

import "strings"

// IsKey reports whether text is spelled as a key of Setting is: "section.key", or
// "peer.NAME.key".
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

// LiveKeys are the keys that may change while running, as "section.key".
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

// KeyInfo is what documents say of a key.
type KeyInfo struct {
	Section string // as it stands in a file, such as [[peer]]
	Name    string
	Value   string // what it takes
	Default string
	Live    bool // a change takes effect while running
	Meaning string
}

// Keys are all keys, section by section.
func Keys() (v []KeyInfo) {
	for _, s := range schema {
		for _, k := range s.keys {
			v = append(v, KeyInfo{header(s.name), k.name, k.kind, k.absent, k.live, k.means})
		}
	}
	return v
}
