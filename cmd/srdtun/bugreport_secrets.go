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

// A secret key may stand where a public key belongs, also another interface's. So a report first
// looks for the secrets of all configurations, and hides them everywhere.

// maxConfigurations bounds the configurations that a report looks through; one host has fewer.
const maxConfigurations = 64

// noteSecrets notes the secret keys in the configuration that was read from file, in the files
// beside it, and in the usual directory. Faulty files may have secrets, too.
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
	// The keys that are secret in one file are public in none.
	maps.DeleteFunc(r.public, func(key string, _ bool) bool { return r.secret[key] })
}

// noteText notes the values of secret keys in a text.
func (r *bugReport) noteText(text []byte) {
	for _, s := range config.SecretKeys(string(text)) {
		r.noteSecret(s)
	}
	for _, word := range config.SecretValues(string(text)) {
		r.pieces.Add(word)
	}
}

// noteKeys notes the keys of a valid configuration, which may be in files of their own, and the
// texts of its drop-in files.
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

// urlAlphabet is the other alphabet of base64.
var urlAlphabet = strings.NewReplacer("+", "-", "/", "_")

// noteSecret notes a secret key in both spellings of a private key, and its pieces.
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

// isPublic reports whether a key is known as public, and as nothing else.
func (r *bugReport) isPublic(key string) bool { return r.public[key] && !r.secret[key] }
