package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/srdtun/srdtun/internal/writers"
)

// maxKeyFileBytes bounds the size of a key file in bytes. It is much larger than a key with its
// line end.
const maxKeyFileBytes = 1024

// publicKey parses a public key, which is required.
func (s section) publicKey(key string) Key {
	text := s.text(key, "")
	if !s.has(key) || text == "" && kind(s.vals[key]) != "a string" {
		return Key{} // checkWhole reports a missing key, and the method text() has reported a wrong type
	}
	k, err := ParseKey(text)
	switch {
	case err != nil:
		s.fail(key, "%v", err)
	case k.IsZero():
		s.fail(key, "the key is all zeros")
	}
	return k
}

// secret returns the secret in the value of `key`, or in the file that the key with the suffix
// "_file" names. It returns zero if both are missing. The errors of secret() never contain the
// secret.
func (s section) secret(key string) Secret {
	fileKey := key + "_file"
	switch {
	case s.has(key) && s.has(fileKey):
		later := key
		if s.off(fileKey) > s.off(key) {
			later = fileKey
		}
		s.fail(later, "give %s or %s, not both", key, fileKey)
	case s.has(key):
		return s.secretText(key, s.text(key, ""))
	case s.has(fileKey):
		return s.secretFile(key, fileKey)
	}
	return Secret{}
}

// either returns the key under which a section has its secret: the value itself, or its file.
func (s section) either(key string) string {
	if s.has(key + "_file") {
		return key + "_file"
	}
	return key
}

func (s section) secretFile(key, fileKey string) Secret {
	name := s.text(fileKey, "")
	if name == "" {
		if kind(s.vals[fileKey]) == "a string" {
			s.fail(fileKey, "want the path of a file")
		}
		return Secret{}
	}
	if s.doc.sealed {
		s.fail(fileKey, "a configuration sent to the daemon may not name a file; give the key itself")
		return Secret{}
	}
	if s.doc.guest {
		s.fail(fileKey, "only root's file in root's directory may name a file; give %s itself", key)
		return Secret{}
	}
	path, from := s.doc.keyFile(name)
	s.doc.keyFiles = append(s.doc.keyFiles, KeyFile{s.doc.lines.line(s.off(fileKey)), s.name + "." + fileKey, path, !filepath.IsAbs(name), 0, writers.Of(from)})
	data, wide, err := readPrivate(from, maxKeyFileBytes)
	if err != nil {
		if name = path; looksDrawn(s.text(fileKey, "")) {
			name = hidden // the text may be a key in place of a file name
		}
		msg := clipped(name) + ": " + err.Error()
		if path != from && errors.Is(err, fs.ErrNotExist) {
			err = fs.ErrPermission // the file may exist, but the service cannot read it
			msg = fmt.Sprintf("systemd did not pass %s to the service; the unit needs LoadCredential=%s:%s", clipped(name), filepath.Base(name), name)
		}
		s.doc.fail(s.off(fileKey), s.name+"."+fileKey, err, msg)
		return Secret{}
	}
	s.doc.keyFiles[len(s.doc.keyFiles)-1].wide = wide
	k, err := ParseSecret(strings.TrimRight(withoutMark(data), " \t\r\n"))
	switch {
	case len(data) == 0:
		err = errors.New("is empty; srdtun genkey, or genpsk, prints a key")
	case err == nil && k.IsZero() && key == "private_key":
		err = errZeros
	}
	if err != nil {
		s.fail(fileKey, "%s: %v", clipped(path), err)
	}
	return k
}

var errZeros = errors.New("the key is all zeros")

// keyFile returns the original path of a key file, and the path to read. The paths differ for a
// copy that systemd made, because the copy of the key file is in the same folder as the copy of the
// configuration.
func (d *document) keyFile(name string) (path, from string) {
	if filepath.IsAbs(name) {
		return filepath.Clean(name), filepath.Clean(name)
	}
	return filepath.Join(filepath.Dir(d.file), name), filepath.Join(d.dir, name)
}

// secretText decodes a secret from base64.
func (s section) secretText(key, text string) Secret {
	if kind(s.vals[key]) != "a string" {
		return Secret{} // the wrong type has already been recorded
	}
	k, err := ParseSecret(text)
	switch {
	case err != nil:
		s.fail(key, "%v", err)
	case k.IsZero() && key == "private_key":
		s.fail(key, "%v", errZeros)
	}
	return k
}
