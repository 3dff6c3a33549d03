package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// alice is a user of this host who is not root.
const alice = 1234

// asAlice runs a shell script as alice.
func asAlice(t *testing.T, h *fabric.Host, script string) {
	t.Helper()
	command(t, h, "setpriv", "--reuid", fmt.Sprint(alice), "--regid", fmt.Sprint(alice), "--clear-groups", "sh", "-ec", script)
}

// others is a directory with the files of an attack. The field top belongs to root, and everybody
// may enter it.
type others struct{ top, marker, key string }

func (o others) at(name string) string { return filepath.Join(o.top, name) }

// toml returns a configuration whose pre_up creates the marker, or runs the given words.
func (o others) toml(words ...string) string {
	if len(words) == 0 {
		words = []string{"touch", o.marker}
	}
	return fmt.Sprintf("[interface]\nname = \"srdothers\"\nprivate_key = %q\naddress = [\"10.9.3.1/32\"]\nlisten_port = 0\npre_up = [[\"%s\"]]\n", o.key, strings.Join(words, `", "`))
}

// A user who may write to a configuration, to a program of its commands, or to a directory above
// them, can choose what root's daemon runs. So root starts nothing from such files, and "check"
// names the file or directory with its owner or mode, and the remedy.
func TestOthersFilesRunNothingAsRoot(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	h := f.A(1)
	key := strings.TrimSpace(command(t, h, bin, "genkey"))
	script := func(o others) string { return "#!/bin/sh\ntouch " + o.marker + "\n" }
	for _, c := range []struct {
		name   string
		before func(t *testing.T, o others) // of root
		attack string                       // of alice, in the directory
		file   string                       // that root starts
		want   string
	}{
		{"file of another user", func(t *testing.T, o others) {
			put(t, o.at("lab.toml"), o.toml("true"), 0o600, alice)
		}, "cp ../evil lab.toml", "lab.toml", "TOP/lab.toml: belongs to user 1234, who could make root run commands by it; run: chown root TOP/lab.toml"},
		{"directory that all may write to", func(t *testing.T, o others) {
			must(t, os.Mkdir(o.at("d"), 0o755))
			must(t, os.Chmod(o.at("d"), 0o777))
			put(t, o.at("d/lab.toml"), o.toml("true"), 0o600, 0)
		}, "mv d/lab.toml d/gone; (umask 077; cp ../evil d/lab.toml)", "d/lab.toml", "TOP/d, in which it is, is writable by all users (mode 0777), who could put another file in its place; run: chmod o-w TOP/d"},
		{"the same before an attack", func(t *testing.T, o others) {
			must(t, os.Mkdir(o.at("d"), 0o755))
			must(t, os.Chmod(o.at("d"), 0o777))
			put(t, o.at("d/lab.toml"), o.toml(), 0o600, 0)
		}, "true", "d/lab.toml", "TOP/d, in which it is, is writable by all users (mode 0777)"},
		{"directory of another user", func(t *testing.T, o others) {
			must(t, os.Mkdir(o.at("d"), 0o755))
			put(t, o.at("d/lab.toml"), o.toml(), 0o600, 0)
			must(t, os.Chown(o.at("d"), alice, 0))
		}, "true", "d/lab.toml", "TOP/d, in which it is, belongs to user 1234, who could put another file in its place; keep it in a directory of root, such as /etc/srdtun"},
		{"directory of another user further up", func(t *testing.T, o others) {
			must(t, os.MkdirAll(o.at("d/e"), 0o755))
			put(t, o.at("d/e/lab.toml"), o.toml(), 0o600, 0)
			must(t, os.Chown(o.at("d"), alice, 0))
		}, "true", "d/e/lab.toml", "TOP/d, in which it is, belongs to user 1234"},
		{"link to a file of another user", func(t *testing.T, o others) {
			put(t, o.at("home"), o.toml("true"), 0o600, alice)
			must(t, os.Symlink("home", o.at("lab.toml")))
		}, "cp ../evil home", "lab.toml", "TOP/lab.toml: leads to TOP/home, which belongs to user 1234"},
		{"link of another user in a directory like /tmp", func(t *testing.T, o others) {
			must(t, os.Mkdir(o.at("tmp"), 0o755))
			must(t, os.Chmod(o.at("tmp"), 0o777|os.ModeSticky))
			put(t, o.at("root.toml"), o.toml(), 0o600, 0)
		}, "ln -s ../root.toml tmp/lab.toml", "tmp/lab.toml", "TOP/tmp/lab.toml: is a link of user 1234"},
		{"program of another user", func(t *testing.T, o others) {
			put(t, o.at("hook"), "#!/bin/sh\n", 0o755, alice)
			put(t, o.at("lab.toml"), o.toml(o.at("hook")), 0o600, 0)
		}, "cp ../evilhook hook", "lab.toml", `TOP/lab.toml:6: interface.pre_up: TOP/hook belongs to user 1234, who could make root run commands by it; run: chown root TOP/hook`},
		{"program that its group may write to", func(t *testing.T, o others) {
			put(t, o.at("hook"), "#!/bin/sh\n", 0o775, 0)
			must(t, os.Chown(o.at("hook"), 0, alice))
			put(t, o.at("lab.toml"), o.toml(o.at("hook")), 0o600, 0)
		}, "cp ../evilhook hook", "lab.toml", `interface.pre_up: TOP/hook is writable by group 1234 (mode 0775), whose members could make root run commands by it; run: chmod g-w TOP/hook`},
		{"program in a directory of another user", func(t *testing.T, o others) {
			must(t, os.Mkdir(o.at("d"), 0o755))
			put(t, o.at("d/hook"), "#!/bin/sh\n", 0o755, 0)
			must(t, os.Chown(o.at("d"), alice, 0))
			put(t, o.at("lab.toml"), o.toml(o.at("d/hook")), 0o600, 0)
		}, "mv d/hook d/gone; cp ../evilhook d/hook", "lab.toml", `interface.pre_up: TOP/d, in which TOP/d/hook is, belongs to user 1234`},
		{"script that a shell runs", func(t *testing.T, o others) {
			put(t, o.at("hook"), "#!/bin/sh\n", 0o644, alice)
			put(t, o.at("lab.toml"), o.toml("sh", o.at("hook")), 0o600, 0)
		}, "cp ../evilhook hook", "lab.toml", `interface.pre_up: TOP/hook belongs to user 1234`},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := shortDir(t)
			o := others{top: filepath.Join(out, "top"), marker: filepath.Join(out, "marker"), key: key}
			must(t, os.Mkdir(o.top, 0o755))
			put(t, filepath.Join(out, "evil"), o.toml(), 0o644, 0)
			put(t, filepath.Join(out, "evilhook"), script(o), 0o755, 0)
			c.before(t, o)
			asAlice(t, h, "cd "+o.top+"; "+c.attack)
			want := strings.ReplaceAll(c.want, "TOP", o.top)
			for _, args := range [][]string{{"check", o.at(c.file)}, {"up", "-d", o.at(c.file)}} {
				_, err := h.Run(bin, args...)
				if err == nil || !strings.Contains(err.Error(), "exit status 78") || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %q", args[0], err, want)
				}
				_, _ = h.Run(bin, "down", "srdothers") // if it has started
			}
			if _, err := os.Stat(o.marker); err == nil {
				t.Error("root has run alice's command")
			}
		})
	}
}

// shortDir makes a directory that everybody may enter. Its name is short, because srdtun hides words
// that look like keys.
func shortDir(t *testing.T) string {
	t.Helper()
	scratch, err := fabric.Scratch()
	must(t, err)
	dir, err := os.MkdirTemp(scratch, "w")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(scratch, 0o711))
	must(t, os.Chmod(dir, 0o755))
	return dir
}

// put writes a file with a mode, for a user.
func put(t *testing.T, file, text string, mode os.FileMode, uid int) {
	t.Helper()
	must(t, os.WriteFile(file, []byte(text), mode))
	must(t, os.Chmod(file, mode))
	must(t, os.Chown(file, uid, uid))
}

// Files that only root could change are accepted, also where another user owns them or their mode
// is wide: on platforms that mount them read-only, in sticky directories, of the user who runs
// sudo, and in the user namespace of an ordinary user.
func TestFilesThatNoOtherUserWritesAreAccepted(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	h := f.A(1)
	key := strings.TrimSpace(command(t, h, bin, "genkey"))
	for _, c := range []struct{ name, script, says string }{
		{"in a sticky directory", "mkdir d; chmod 1777 d; cp ../lab.toml d/; check d/lab.toml", ""},
		{"of the user of sudo", "mkdir d; cp ../lab.toml d/; chown -R 1234 d; export SUDO_UID=1234; check d/lab.toml", ""},
		{"a secret of Kubernetes", `mkdir d; mount -t tmpfs -o mode=1777 tmpfs d; mkdir d/..2026; cp ../lab.toml d/..2026; ln -s ..2026 d/..data
			ln -s ..data/lab.toml d/lab.toml; chgrp -R 2000 d; chmod 3777 d; chmod 2755 d/..2026; chmod 440 d/..2026/lab.toml; mount -o remount,ro d; check d/lab.toml`, "others may read it (mode bits 0040)"},
		{"a secret of Docker", "mkdir d; mount -t tmpfs tmpfs d; cp ../lab.toml d/; chmod 444 d/lab.toml; mount -o remount,ro d; check d/lab.toml", "others may read it (mode bits 0044)"},
		{"a volume mounted read-only", "cp ../lab.toml .; chown 1234 lab.toml; mount --bind lab.toml lab.toml; mount -o remount,bind,ro lab.toml; check lab.toml", ""},
		{"a link into the store of Nix", "mkdir store etc; chgrp 30000 store; chmod 1775 store; mkdir store/x; cp ../lab.toml store/x; ln -s ../store/x etc/static; ln -s static/lab.toml etc/lab.toml; check etc/lab.toml", ""},
		{"in a directory of a group without members", "mkdir d; chgrp staff d; chmod 2775 d; cp ../lab.toml d/; check d/lab.toml", ""},
		{"a program of the system", "sed 's|^pre_up.*|pre_up = [[\"sh\", \"-c\", \"true\"], [\"/bin/true\"], [\"ip\", \"link\"]]|' ../lab.toml >lab.toml; chmod 600 lab.toml; check lab.toml", ""},
		{"other files of commands", "touch data; chown 1234 data; sed \"s,^pre_up.*,pre_up = [['cp'\\, '$PWD/data'\\, '/dev/null']],\" ../lab.toml >lab.toml; chmod 600 lab.toml; check lab.toml",
			"TOP/lab.toml:6: interface.pre_up: TOP/data belongs to user 1234, who could change what the command does; run: chown root TOP/data (warning)"},
		{"a key file of another user", "mkdir d; (umask 077; sed -n 's/^private_key = //p' ../lab.toml | tr -d '\"' >d/key); chmod 777 d; sed 's,^private_key.*,private_key_file = \"d/key\",' ../lab.toml >lab.toml; chmod 600 lab.toml; check lab.toml",
			"TOP/lab.toml:3: interface.private_key_file: TOP/d, in which TOP/d/key is, is writable by all users (mode 0777), who could put another file in its place; run: chmod o-w TOP/d (warning)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := shortDir(t)
			o := others{top: filepath.Join(out, "top"), key: key}
			must(t, os.Mkdir(o.top, 0o755))
			put(t, filepath.Join(out, "lab.toml"), o.toml("true"), 0o600, 0)
			said, err := h.Run("sh", "-ec", "check() { "+bin+` check "$PWD/$1" 2>&1; }; cd `+o.top+"; "+c.script)
			if err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			want := strings.ReplaceAll(c.says, "TOP", o.top)
			if !strings.Contains(said, want) || want == "" && strings.Contains(said, "warning") {
				t.Errorf("check says %q, want %q", said, want)
			}
		})
	}
	t.Run("in the user namespace of a user", func(t *testing.T) {
		out := shortDir(t)
		put(t, filepath.Join(out, "lab.toml"), others{key: key}.toml("true"), 0o600, alice)
		// Another process makes the copy. Otherwise a process that a test beside this one starts could
		// hold the file open for writing, and the kernel would not run it.
		command(t, h, "install", bin, filepath.Join(out, "srdtun"))
		p := exec.Command(filepath.Join(out, "srdtun"), "check", filepath.Join(out, "lab.toml"))
		one := []syscall.SysProcIDMap{{HostID: alice, Size: 1}}
		p.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: one, GidMappings: one, Credential: &syscall.Credential{NoSetGroups: true}}
		said, err := p.CombinedOutput()
		must(t, err)
		for line := range strings.Lines(string(said)) {
			// Such a user can neither use root's run directory nor, on this host, open /dev/net/tun.
			if strings.Contains(line, "(warning)") && !strings.Contains(line, "the start would fail now: ") {
				t.Errorf("check warns: %s", line)
			}
		}
	})
}

// A running daemon does not take over a file that another user could change since its start.
func TestReloadRefusesAFileOfOthers(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	n := node(t, f.A(1), "w", tunnel.Config{Extra: "pre_up = [[\"true\"]]\n"})
	dir := filepath.Join(shortDir(t), "d")
	must(t, os.Mkdir(dir, 0o755))
	n.File = filepath.Join(dir, n.Name+".toml")
	must(t, n.Start())
	must(t, os.Chmod(dir, 0o777))
	want := n.File + ": " + dir + ", in which it is, is writable by all users (mode 0777), "
	if _, err := f.A(1).Run(bin, "reload", n.Name); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("reload: %v, want %q", err, want)
	}
	must(t, syscall.Kill(n.Pid(), syscall.SIGHUP))
	until(t, "the refusal in the log", 10*time.Second, func() bool { return strings.Contains(n.Log(), "not changed: "+want) })
	// The unit of a service runs this command as root. The service itself does not run as root.
	out := command(t, f.A(1), "sh", "-c", "SRDTUN_CONFIG_DIR="+dir+" "+bin+" starting "+n.Name+" 2>&1")
	wants(t, "the start of a service", out, "srdtun: "+want)
	if err := n.Down(); err != nil {
		t.Error(err)
	}
}
