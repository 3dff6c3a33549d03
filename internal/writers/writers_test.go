package writers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// list is an access control list with which user 1234 may write (linux/posix_acl_xattr.h): the
// version, and then tag, permissions and number of the owner, user 1234, the group, the mask and
// others.
var list = []byte{
	2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 7, 0, 0xd2, 4, 0, 0, 4, 0, 5, 0, 255, 255, 255, 255,
	0x10, 0, 7, 0, 255, 255, 255, 255, 0x20, 0, 5, 0, 255, 255, 255, 255,
}

// Each path has the expected description of the user who could change its file, or "".
func TestWhoCouldChangeAFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("who owns a file is given by root")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	at := func(name string) string { return filepath.Join(top, name) }
	for _, name := range []string{"root", "root/below", "alice", "all", "sticky", "team", "listed"} {
		must(t, os.Mkdir(at(name), 0o755))
		must(t, os.WriteFile(at(name+"/file"), nil, 0o600))
	}
	must(t, os.Chown(at("alice"), 1234, 1234))
	must(t, os.Chmod(at("all"), 0o777))
	must(t, os.Chmod(at("sticky"), 0o777|os.ModeSticky))
	must(t, os.Chown(at("team"), 0, 1234))
	must(t, os.Chmod(at("team"), 0o775))
	if err := unix.Setxattr(at("listed"), "system.posix_acl_access", list, 0); err != nil {
		t.Logf("without access control lists here: %v", err)
		must(t, os.Chmod(at("listed"), 0o755))
	}
	for from, to := range map[string]string{
		"root/up": "../root/below/../file", "root/far": at("alice") + "/file", "root/slash": "//" + at("root/file"), "root/dir": "../all",
		"root/loop": "loop", "root/lost": "nothing", "sticky/link": at("root/file"), "alice/link": at("root/file"), "root/chain": "up",
	} {
		must(t, os.Symlink(to, at(from)))
	}
	must(t, os.Lchown(at("sticky/link"), 1234, 1234))
	must(t, os.WriteFile(at("root/open"), nil, 0o602))
	must(t, os.Chmod(at("root/open"), 0o602))

	for name, want := range map[string]string{
		"root/file": "", "root/below/file": "", "root/up": "", "root/chain": "", "root/slash": "", "root/loop": "", "root/lost": "", "none/file": "", "sticky/file": "",
		"root/../root/./file": "",
		"alice/file":          "TOP/alice, in which F is, belongs to user 1234, who could put another file in its place; keep it in H",
		"alice/link":          "TOP/alice, in which F is, belongs to user 1234, who could put another file in its place; keep it in H",
		"root/far":            "TOP/alice, in which F is, belongs to user 1234, who could put another file in its place; keep it in H",
		"all/file":            "TOP/all, in which F is, is writable by all users (mode 0777), who could put another file in its place; run: chmod o-w TOP/all",
		"root/dir/file":       "TOP/all, in which F is, is writable by all users (mode 0777), who could put another file in its place; run: chmod o-w TOP/all",
		"sticky/link":         "F is a link of user 1234, who could put another file in its place; keep it in H",
		"team/file":           "TOP/team, in which F is, is writable by group 1234 (mode 0775), whose members could put another file in its place; run: chmod g-w TOP/team",
		"listed/file":         "TOP/listed, in which F is, is writable by users of its access control list (mode 0775), who could put another file in its place; run: setfacl -b TOP/listed",
		"root/open":           "F is writable by all users (mode 0602), who could C; run: chmod o-w TOP/root/open",
	} {
		if name == "listed/file" && !hasList(at("listed")) {
			continue
		}
		got := ""
		if w := Of(at(name)); w != nil {
			got = w.Text("F", "could C", "H")
		}
		if want = strings.ReplaceAll(want, "TOP", top); got != want {
			t.Errorf("%s: %q\nwant %q", name, got, want)
		}
	}
	t.Setenv("SUDO_UID", "1234")
	if w := Of(at("alice/file")); w != nil {
		t.Errorf("of the user of sudo: %+v", w)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
