// Package writers finds users other than root who could change a file that root reads or runs. Such
// a user may own the file, a directory above it, or a link on the way to it, or the mode of one of
// these may let the user write.
package writers

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Writer describes how a user other than root could change a file.
type Writer struct {
	path   string // of the file
	at     string // the file, directory or link that the user could change
	what   what
	why    string // such as "belongs to user 1234 (alice)"
	who    string // such as "who"
	remedy string // a command, or "" if none helps
}

// what is the kind of a part of a path.
type what int

const (
	theFile what = iota
	aDirectory
	aLink
)

// maxLinks bounds the symbolic links on a path, as in path_resolution(7).
const maxLinks = 40

// Of returns how a user other than root could change the file at a path. It returns nil if no user
// could, if there is no such file, and if this process is not root's: another user's process may be
// started by everybody as themselves.
//
// Like ssh(1), Of examines the file, each directory above it, and each directory with a link on the
// way. In a sticky directory such as /tmp users cannot replace the files of others. What is mounted
// read-only here has been chosen by who mounted it, for instance a container platform.
func Of(path string) *Writer {
	path, err := filepath.Abs(path)
	if err != nil || os.Geteuid() != 0 {
		return nil
	}
	at, rest := "/", strings.Split(path, "/")
	shared := false // users may add files to the directory `at`, but not replace those of others
	for links := 0; ; {
		info, err := os.Lstat(at)
		if err != nil {
			return nil
		}
		w, link := examine(at, info, len(rest) == 0, shared), info.Mode()&fs.ModeSymlink != 0
		switch {
		case w != nil:
			w.path = path
			return w
		case link:
			to, err := os.Readlink(at)
			if links++; err != nil || links > maxLinks {
				return nil
			}
			if at = filepath.Dir(at); filepath.IsAbs(to) {
				at = "/"
			}
			rest = append(strings.Split(to, "/"), rest...)
		case len(rest) == 0:
			return nil
		}
		if !link {
			shared = info.Mode()&fs.ModeSticky != 0
		}
		for len(rest) > 0 && (rest[0] == "" || rest[0] == ".") {
			rest = rest[1:]
		}
		if len(rest) > 0 {
			at, rest = filepath.Join(at, rest[0]), rest[1:] // no part of `at` is a link, so ".." is the directory above
		}
	}
}

// examine returns how another user could change one part of a path.
func examine(at string, info fs.FileInfo, last, shared bool) *Writer {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || mountedReadOnly(at) {
		return nil
	}
	w, mode := &Writer{at: at}, info.Mode().Perm()
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		w.what = aLink
	case !last:
		w.what = aDirectory
	}
	if !trusted(st.Uid) && (w.what != aLink || shared) {
		w.why, w.who = "belongs to user "+named(st.Uid), "who"
		switch w.what {
		case theFile:
			w.remedy = "chown root " + at
		case aLink:
			w.why = "is a link of user " + named(st.Uid)
		}
		return w
	}
	if w.what == aLink || info.Mode()&fs.ModeSticky != 0 && w.what == aDirectory {
		return nil
	}
	switch {
	case mode&0o002 != 0:
		w.why, w.who, w.remedy = "is writable by all users", "who", "chmod o-w "+at
	case mode&0o020 != 0 && hasList(at):
		w.why, w.who, w.remedy = "is writable by users of its access control list", "who", "setfacl -b "+at
	case mode&0o020 != 0 && st.Gid != 0 && hasMembers(st.Gid):
		w.why, w.who, w.remedy = "is writable by group "+strconv.Itoa(int(st.Gid)), "whose members", "chmod g-w "+at
	default:
		return nil
	}
	w.why += fmt.Sprintf(" (mode %04o)", mode)
	return w
}

// Text describes the writer of a file in a message. The argument subject names the file, and is ""
// if the message begins with its name. The argument could says what the writer of the file could do,
// and home names a directory in which the file is safe.
func (w *Writer) Text(subject, could, home string) string {
	text := subject + " " + w.why
	switch {
	case w.what == aDirectory:
		text = w.at + ", in which " + cmp.Or(subject, "it") + " is, " + w.why
	case w.at != w.path:
		text = subject + " leads to " + w.at + ", which " + w.why
	}
	if w.what != theFile {
		could = "could put another file in its place"
	}
	text = strings.TrimSpace(text) + ", " + w.who + " " + could
	if w.remedy == "" {
		return text + "; keep it in " + home
	}
	return text + "; run: " + w.remedy
}

// trusted reports whether a user is root, the user who became root by sudo(8), or a user that has no
// number in this user namespace. In a user namespace of an ordinary user, root's files belong to
// such a user.
func trusted(uid uint32) bool {
	by, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 32)
	return uid == 0 || err == nil && uint32(by) == uid || uid == overflow && !mapped(uid)
}

// overflow is the user that stands for all users without a number, /proc/sys/kernel/overflowuid.
const overflow = 65534

func mapped(uid uint32) bool {
	text, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(text)) {
		var first, outside, count uint64
		if n, _ := fmt.Sscan(line, &first, &outside, &count); n == 3 && uint64(uid) >= first && uint64(uid)-first < count {
			return true
		}
	}
	return false
}

// A service may see the whole host read-only (systemd.exec(5), ProtectSystem=), so for a service
// such a mount does not count.
func mountedReadOnly(path string) bool {
	var st unix.Statfs_t
	return os.Getenv("INVOCATION_ID") == "" && unix.Statfs(path, &st) == nil && st.Flags&unix.ST_RDONLY != 0
}

// hasList reports whether a file has an access control list (acl(5)). The list may give access to
// further users, and then the group's part of the mode is the maximum of their rights.
func hasList(path string) bool {
	n, err := unix.Lgetxattr(path, "system.posix_acl_access", nil)
	return err == nil && n > 0
}

// hasMembers reports whether users other than the trusted ones are members of a group. A group that
// is not in /etc/group may have members.
func hasMembers(gid uint32) bool {
	text, err := os.ReadFile("/etc/group")
	if err != nil {
		return true
	}
	found := false
	for line := range strings.Lines(string(text)) {
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) == 4 && f[2] == strconv.Itoa(int(gid)) {
			for name := range strings.SplitSeq(f[3], ",") {
				if u, err := user.Lookup(name); name != "" && (err != nil || !trustedName(u.Uid)) {
					return true
				}
			}
			found = true
		}
	}
	users, err := os.ReadFile("/etc/passwd")
	if !found || err != nil {
		return true
	}
	for line := range strings.Lines(string(users)) {
		if f := strings.Split(line, ":"); len(f) > 3 && f[3] == strconv.Itoa(int(gid)) && !trustedName(f[2]) {
			return true
		}
	}
	return false
}

func trustedName(number string) bool {
	uid, err := strconv.ParseUint(number, 10, 32)
	return err == nil && trusted(uint32(uid))
}

// named returns the number of a user, and the name if there is one.
func named(uid uint32) string {
	number := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(number); err == nil {
		return fmt.Sprintf("%s (%s)", number, u.Username)
	}
	return number
}
