package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A systemd service may see fewer files than the host has, because settings hide some directories
// (systemd.exec(5)).

// hiding is a setting that hides a directory from a unit.
type hiding struct{ setting, dir string }

// hidings returns the directories that a unit's properties hide.
func hidings(shown map[string]string) (all []hiding) {
	add := func(setting string, dirs ...string) {
		for _, dir := range dirs {
			all = append(all, hiding{setting, dir})
		}
	}
	if v := shown["ProtectHome"]; v == "yes" || v == "tmpfs" {
		add("ProtectHome="+v, "/home", "/root", "/run/user")
	}
	if v := shown["PrivateTmp"]; v == "yes" || v == "disconnected" {
		add("PrivateTmp="+v, "/tmp", "/var/tmp")
	}
	add("InaccessiblePaths=", mounts(shown["InaccessiblePaths"])...)
	add("TemporaryFileSystem=", mounts(shown["TemporaryFileSystem"])...)
	return all
}

// mounts returns the mount points in a list of mounts. A mount may have a prefix "-" or "+", a
// source, and options.
func mounts(list string) (all []string) {
	for _, word := range strings.Fields(list) {
		parts := strings.Split(strings.TrimLeft(word, "-+"), ":")
		if at := parts[0]; len(parts) > 1 && filepath.IsAbs(parts[1]) {
			all = append(all, filepath.Clean(parts[1]))
		} else if filepath.IsAbs(at) {
			all = append(all, filepath.Clean(at))
		}
	}
	return all
}

// hides returns the setting that hides a path from the unit, or "" if none does.
func (u *serviceUnit) hides(path string) string {
	if slices.ContainsFunc(u.shown, func(dir string) bool { return within(path, dir) }) {
		return ""
	}
	for _, h := range u.hidden {
		if within(path, h.dir) {
			return fmt.Sprintf("%s hides %s", h.setting, h.dir)
		}
	}
	return ""
}

// noSocketIn returns the reason why the unit cannot create a socket for other processes in a
// directory, or "" if it can.
func (u *serviceUnit) noSocketIn(dir string) string {
	why := cmp.Or(u.hides(dir), u.barred(dir))
	_, err := os.Stat(dir)
	switch {
	case slices.Contains(u.runtime, dir):
		return ""
	case why != "":
		return why
	case err != nil:
		return "there is no " + dir
	case u.writable != nil && !slices.ContainsFunc(u.writable, func(at string) bool { return within(dir, at) }):
		return "ProtectSystem=strict makes " + dir + " read-only"
	case !u.may(dir, 3):
		return describeMode(dir)
	}
	return ""
}

// within reports whether a path is the directory dir, or below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// unitPath is systemd's DEFAULT_PATH, with the directories that older hosts add.
const unitPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// searchPath returns the directories that a unit with this environment searches for programs.
func searchPath(environment string) []string {
	path := unitPath
	for _, word := range strings.Fields(environment) {
		if v, ok := strings.CutPrefix(word, "PATH="); ok {
			path = v
		}
	}
	return filepath.SplitList(path)
}

// credentials holds the names of the credentials that systemd passes to a unit. A name that ends
// with "_" is a prefix, because for a directory systemd passes each file under the prefix and the
// file's name.
type credentials []string

// credentialsOf reads the credentials from the output of systemctl cat.
func credentialsOf(text, instance string) (all credentials) {
	specifiers := strings.NewReplacer("%i", instance, "%I", instance, "%%", "%")
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if key != "LoadCredential" && key != "LoadCredentialEncrypted" {
			continue
		}
		id, from, _ := strings.Cut(specifiers.Replace(value), ":")
		switch info, err := os.Stat(from); {
		case id == "":
			all = nil // an empty value cancels the earlier ones
		case err == nil && info.IsDir():
			all = append(all, id+"_")
		default:
			all = append(all, id)
		}
	}
	return all
}

// have reports whether systemd passes a credential with this name.
func (c credentials) have(base string) bool {
	return slices.ContainsFunc(c, func(id string) bool {
		return id == base || strings.HasSuffix(id, "_") && strings.HasPrefix(base, id)
	})
}

// barred returns the reason why the unit's user cannot read a path, or "" if the user can. The
// reason is the mode of the first directory or file that refuses access, or the setting that
// hides the path. The method barred() does not report a missing path.
func (u *serviceUnit) barred(path string) string {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	if why := u.hides(path); why != "" {
		return why
	}
	at := "/"
	for _, part := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		if !u.may(at, 1) {
			return describeMode(at)
		}
		at = filepath.Join(at, part)
	}
	need := uint32(4)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		need = 5
	}
	if !u.may(path, need) {
		return describeMode(path)
	}
	return ""
}

// may reports whether the unit's user has the permissions `need` on a file. The argument `need` has
// the permissions in the lowest three bits, like the mode bits of others.
func (u *serviceUnit) may(path string, need uint32) bool {
	info, err := os.Stat(path)
	if err != nil {
		return true
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	mode := st.Mode
	if int(st.Uid) == u.uid {
		mode >>= 6
	} else {
		for _, g := range u.groups {
			if int(st.Gid) == g {
				mode >>= 3
				break
			}
		}
	}
	return mode&need == need
}

func describeMode(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return path
	}
	return fmt.Sprintf("%s has mode %04o", path, info.Mode().Perm())
}
