package main

import (
	"encoding/hex"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/bounded"
)

// A user may have put a secret key, even that of another interface, where a public key belongs. So
// a report first collects the secrets of all configurations, and then hides them everywhere.

// maxConfigurations bounds the number of configurations that a report searches for secrets. One
// host has fewer.
const maxConfigurations = 64

// noteSecrets collects the secret keys in a configuration, in other files of its directory, and in
// the usual directory. It also searches faulty files, because they may contain secrets too.
func (r *bugReport) noteSecrets(file, from string) {
	files := []string{file, from}
	for _, dir := range []string{filepath.Dir(file), configDir()} {
		more, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
		if err == nil {
			files = append(files, more...)
		}
	}
	slices.Sort(files[2:])
	files = slices.Compact(files)
	for _, f := range files[:min(len(files), maxConfigurations)] {
		if text, err := bounded.Head(f, maxImport); err == nil {
			r.noteText(text)
		}
		c, err := config.LoadCopy(file, f)
		if f != from {
			c, err = config.Load(f)
		}
		if err == nil {
			r.noteKeys(c)
		}
	}
	// If a key is secret in one file, it does not count as public in any file.
	maps.DeleteFunc(r.public, func(key string, _ bool) bool { return r.secret[key] })
}

// noteText collects the values of secret keys in a text.
func (r *bugReport) noteText(text []byte) {
	for _, s := range config.SecretKeys(string(text)) {
		r.noteSecret(s)
	}
	for _, word := range config.SecretValues(string(text)) {
		r.pieces.Add(word)
	}
}

// noteKeys collects the keys of a valid configuration, including keys in separate key files, and
// the keys in the texts of its drop-in files.
func (r *bugReport) noteKeys(c *config.Config) {
	r.noteSecret(c.Interface.PrivateKey)
	if c.PeersDir != "" {
		texts, _, err := config.DropInTexts(c, maxShownDropIns)
		if err == nil {
			for _, t := range texts {
				r.noteText(t.Text)
			}
		}
		if with, _, err := config.WithDropIns(c); err == nil {
			c = with
		}
	}
	for i := range c.Peers {
		r.noteSecret(c.Peers[i].PresharedKey)
	}
}

// urlAlphabet converts base64 to its URL-safe alphabet.
var urlAlphabet = strings.NewReplacer("+", "-", "/", "_")

// noteSecret stores the spellings of a secret key, in base64 and in hexadecimal.
func (r *bugReport) noteSecret(s config.Secret) {
	if s.IsZero() {
		return
	}
	for _, key := range []config.Secret{s, s.Clamped()} {
		r.secret[key.Reveal()] = true
		raw := key.Bytes()
		digits := hex.EncodeToString(raw[:])
		for _, form := range []string{key.Reveal(), urlAlphabet.Replace(key.Reveal()), digits, strings.ToUpper(digits)} {
			r.pieces.Add(form)
		}
	}
}

// isPublic reports whether a key occurs as a public key, and never as a secret one.
func (r *bugReport) isPublic(key string) bool { return r.public[key] && !r.secret[key] }
