package e2e

import (
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// unforeseen marks a refusal that a check without side effects cannot know.
const unforeseen = "-"

// TestRefusedAtRunTime starts a daemon with a correct configuration on a host with a fault. The
// daemon must end with one line that names the reason, and leave no state behind. A check just before it says the same.
func TestRefusedAtRunTime(t *testing.T) {
	side(t)
	n := everywhere(t, network(t, fabric.Spec{Spines: 1}))
	good := string(n.Config.TOML())
	extra := func(text string) string { return strings.Replace(good, "\n[[peer]]", "\n"+text+"\n\n[[peer]]", 1) }
	key := func(text string) string { return strings.Replace(good, "[interface]\n", "[interface]\n"+text+"\n", 1) }
	for _, c := range []struct {
		name          string
		before, after string // commands on the host before and after the attempt
		taken         string // an occupied TCP or UDP port on the host, such as "tcp 127.0.0.1:80"
		config        string // "" means the correct configuration
		with          string // command in front of srdtun; "" means root without changes
		code          int
		says          string
		foreseen      string // what the check says before, if not the same words
	}{
		{name: "the device is somebody's", before: "ip link add NAME type veth peer name other", after: "ip link del NAME", code: 1, says: "NAME"},
		{name: "the port is taken", taken: "udp :51820", code: 1, says: "51820"},
		{name: "not root", with: "setpriv --reuid 65534 --regid 65534 --clear-groups", code: 77, says: "permission denied"},
		{name: "the run directory is root's", before: "chown 65534 FILE; chmod 711 $(dirname FILE)", with: "setpriv --reuid 65534 --regid 65534 --clear-groups",
			after: "chown root FILE; chmod 700 $(dirname FILE)", code: 77, says: "the run directory must belong to the user who starts the daemon"},
		{name: "no capabilities", with: "setpriv --bounding-set=-net_admin --inh-caps=-net_admin", code: 77, says: "root or CAP_NET_ADMIN"},
		{name: "a port below 1024 without the right", with: "setpriv --bounding-set=-net_bind_service --inh-caps=-net_bind_service",
			config: strings.Replace(good, "listen_port = 51820", "listen_port = 443", 1), code: 77, says: "interface.listen_port: udp: port 443: permission denied (a port below 1024 needs root or CAP_NET_BIND_SERVICE"},
		{name: "the metrics' port is below 1024", with: "setpriv --bounding-set=-net_bind_service --inh-caps=-net_bind_service",
			config: extra("[metrics]\nlisten = \"127.0.0.1:80\""), code: 77, says: "metrics.listen: nobody can listen there (listen tcp 127.0.0.1:80: bind: permission denied; a port below 1024 needs root or CAP_NET_BIND_SERVICE; in a unit: AmbientCapabilities=CAP_NET_BIND_SERVICE"},
		{name: "the run directory is read-only", with: "unshare -m sh -c 'mount -t tmpfs -o ro none /mnt && exec env SRDTUN_RUN_DIR=/mnt \"$@\"' sh", code: 1, says: "the run directory must be writable"},
		{name: "the run directory has no room for a file", with: "unshare -m sh -c 'mount -t tmpfs -o nr_inodes=1 none /mnt && exec env SRDTUN_RUN_DIR=/mnt \"$@\"' sh", code: 1, says: "no space left on device (free space there"},
		{name: "the run directory has no room for the socket", with: "unshare -m sh -c 'mount -t tmpfs -o nr_inodes=2 none /mnt && exec env SRDTUN_RUN_DIR=/mnt \"$@\"' sh", code: 1, says: ".sock: no space left on device (free space there", foreseen: "write /mnt: no space left on device (free space there"},
		{name: "the run directory is full", with: "unshare -m sh -c 'mount -t tmpfs -o size=4k none /mnt && head -c 4096 /dev/zero >/mnt/fill && exec env SRDTUN_RUN_DIR=/mnt \"$@\"' sh",
			config: key("table = 77"), code: 1, says: ".state: no space left on device (free space there", foreseen: "write /mnt: no space left on device (free space there"},
		{name: "the run directory is a file", with: "env SRDTUN_RUN_DIR=FILE", code: 1, says: "FILE\": not a directory"},
		{name: "the default run directory is a file", with: "unshare -m sh -c 'mount -t tmpfs none /run && touch /run/srdtun && exec \"$@\"' sh", code: 1, says: "/run/srdtun: not a directory"},
		{name: "the run directory is below a file", with: "env SRDTUN_RUN_DIR=FILE/run", code: 1, says: "FILE/run: not a directory"},
		{name: "the run directory is a link", before: "mkdir FILE.r; ln -s FILE.r FILE.l", after: "rm FILE.l; rmdir FILE.r", with: "env SRDTUN_RUN_DIR=FILE.l", code: 1, says: "a symbolic link, which is not followed"},
		{name: "the run directory is everybody's", before: "mkdir FILE.r; chmod 777 FILE.r", after: "rmdir FILE.r", with: "env SRDTUN_RUN_DIR=FILE.r", code: 1, says: "any user may replace files in it (mode 0777)"},
		{name: "the run directory is missing in a directory that is read-only", with: "unshare -m sh -c 'mount -t tmpfs -o ro none /mnt && exec env SRDTUN_RUN_DIR=/mnt/a/run \"$@\"' sh", code: 1, says: "/mnt/a: read-only file system (the run directory must be writable"},
		{name: "the lock file is a directory", before: "mkdir -p FILE.r/NAME.lock", after: "rmdir FILE.r/NAME.lock FILE.r", with: "env SRDTUN_RUN_DIR=FILE.r", code: 1, says: "NAME.lock: is a directory", foreseen: "NAME.lock: not a regular file with one link"},
		{name: "the lock file is another user's", before: "mkdir -m 1777 FILE.r; touch FILE.r/NAME.lock; chown 65534 FILE.r/NAME.lock", after: "rm -r FILE.r", with: "env SRDTUN_RUN_DIR=FILE.r", code: 1, says: "NAME.lock: belongs to another user than its directory"},
		{name: "a directory has the socket's name", before: "mkdir -p FILE.r/NAME.sock", after: "rm -r FILE.r", with: "env SRDTUN_RUN_DIR=FILE.r", code: 1, says: "NAME.sock: is a directory"},
		{name: "the socket's path is too long", before: "mkdir /tmp/$(printf %84s | tr ' ' r)", after: "rmdir /tmp/$(printf %84s | tr ' ' r)", with: "env SRDTUN_RUN_DIR=/tmp/$(printf %84s | tr ' ' r)", code: 1, says: "bytes too long for the address of a socket"},
		{name: "the state of an earlier run is damaged", before: "mkdir FILE.r; echo x >FILE.r/NAME.state", after: "rm FILE.r/NAME.state; rmdir FILE.r", with: "env SRDTUN_RUN_DIR=FILE.r", code: 1, says: "state of an earlier run: FILE.r/NAME.state is damaged"},
		{name: "no /dev/net/tun", with: "unshare -m sh -c 'mount -t tmpfs none /dev/net && exec \"$@\"' sh", code: 1, says: "/dev/net/tun"},
		{name: "no such file", before: "rm FILE", code: 78, says: "FILE"},
		{name: "the file is a folder", before: "rm FILE; mkdir FILE", after: "rmdir FILE", code: 78, says: "FILE"},
		{name: "no key file", config: strings.Replace(key("private_key_file = \"/nonexistent/key\""), "private_key = ", "# ", 1), code: 78, says: "/nonexistent/key"},
		{name: "the metrics' port is taken", taken: "tcp 127.0.0.1:9586", config: extra("[metrics]\nlisten = \"127.0.0.1:9586\""), code: 1, says: "9586"},
		{name: "the metrics' address is of no interface", config: extra("[metrics]\nlisten = \"192.0.2.99:9586\""), code: 1, says: "metrics.listen: nobody can listen there (listen tcp 192.0.2.99:9586: bind: cannot assign requested address"},
		{name: "the dashboard's address is of no interface", config: extra("[dashboard]\nlisten = \"[2001:db8::99]:9586\""), code: 1, says: "dashboard.listen: nobody can listen there (listen tcp [2001:db8::99]:9586: bind: cannot assign requested address"},
		{name: "the metrics' socket is in no folder", config: extra("[metrics]\nlisten = \"unix:/nonexistent/m\""), code: 1, says: "listen in /nonexistent: no such file or directory"},
		{name: "the dashboard's port is taken", taken: "tcp 127.0.0.1:9587", config: extra("[dashboard]\nlisten = \"127.0.0.1:9587\""), code: 1, says: "9587"},
		{name: "a file is at the metrics' socket", before: "touch FILE.m", after: "rm FILE.m", config: extra("[metrics]\nlisten = \"unix:" + n.File + ".m\""), code: 1, says: "FILE.m exists, and is not a socket"},
		{name: "a link is at the metrics' socket", before: "ln -s /etc/passwd FILE.m", after: "rm FILE.m", config: extra("[metrics]\nlisten = \"unix:" + n.File + ".m\""), code: 1, says: "FILE.m exists, and is not a socket"},
		{name: "the metrics' socket is in a folder of everybody's", config: extra("[metrics]\nlisten = \"unix:/tmp/m\""), code: 1, says: "/tmp is writable by everybody"},
		{name: "the metrics' socket is a control socket", config: extra("[metrics]\nlisten = \"unix:/run/srdtun/" + n.Name + ".sock\""), code: 1, says: "names like that are srdtun's own there"},
		{name: "a hook fails", config: key("post_up = [[\"false\"]]"), code: 1, says: "post_up", foreseen: unforeseen},
		{name: "no such hook", config: key("post_up = [[\"/nonexistent/hook\"]]"), code: 1, says: "/nonexistent/hook"},
		{name: "the route is somebody's", before: "ip route add 192.0.2.0/24 dev lo", after: "ip route del 192.0.2.0/24", code: 1, says: "192.0.2.0/24"},
		{name: "the folder of peers is closed", before: "chown 65534 FILE; chmod 711 $(dirname FILE); mkdir -m 700 FILE.d FILE.r; chown 65534 FILE.r", with: "env SRDTUN_RUN_DIR=FILE.r setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=+net_admin --ambient-caps=+net_admin",
			config: extra("[peers]\ndir = \"" + n.File + ".d\""), after: "chown root FILE; chmod 700 $(dirname FILE); rmdir FILE.d FILE.r", code: 77, says: "put it in /etc/srdtun-peers, mode 0755"},
		{name: "the folder of peers is missing", config: extra("[peers]\ndir = \"/nonexistent/peers\""), code: 1, says: "/nonexistent/peers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.config == "" {
				c.config = good
			}
			names := strings.NewReplacer("NAME", n.Name, "FILE", n.File)
			must(t, os.WriteFile(n.File, []byte(c.config), 0o600))
			do(t, n.Host, names.Replace(c.before))
			if network, at, ok := strings.Cut(c.taken, " "); ok {
				defer occupy(t, n.Host, network, at).Close()
			}
			before := snapshot(t, n)
			p, err := n.Host.Start("sh", "-c", "exec "+names.Replace(c.with)+" "+bin+" check "+n.File)
			must(t, err)
			_ = p.Wait(10 * time.Second) // the exit code is 0 for what may be different at the start
			t.Logf("check: %s", strings.TrimSpace(p.Log.String()))
			if want := names.Replace(cmp.Or(c.foreseen, c.says)); want != unforeseen && !strings.Contains(strings.ReplaceAll(p.Log.String(), "the start would fail now: ", ""), want) {
				t.Errorf("the check says\n%swant %q", p.Log.String(), want)
			}
			wantUnchanged(t, n, before)
			p, err = n.Host.Start("sh", "-c", "exec "+names.Replace(c.with)+" "+bin+" up "+n.File)
			must(t, err)
			err = p.Wait(10 * time.Second)
			said := p.Log.String()
			t.Logf("code %d: %s", exitCode(err), strings.TrimSpace(said))
			if want := names.Replace(c.says); exitCode(err) != c.code || !strings.Contains(said, want) || strings.Count("\n"+said, "\nsrdtun: ") != 1 {
				t.Errorf("want code %d and one line with %q", c.code, want)
			}
			wantUnchanged(t, n, before)
			do(t, n.Host, names.Replace(c.after))
		})
	}
	// What the start creates is not missing before it.
	must(t, os.WriteFile(n.File, []byte(extra("[metrics]\nlisten = \"10.9.0.1:9586\"\n[dashboard]\nlisten = \"unix:/run/srdtun/"+n.Name+"/dashboard\"")), 0o600))
	if said := do(t, n.Host, "exec 2>&1; "+bin+" check "+n.File); strings.Contains(said, "would fail") {
		t.Errorf("the check of a start that works: %s", said)
	}
	// No leftover state may prevent a correct start.
	must(t, n.Start())
	t.Run("it runs already", func(t *testing.T) {
		out, err := n.Host.Run(bin, "up", n.File)
		if err == nil || !strings.Contains(err.Error()+out, "already running") {
			t.Errorf("%v %s", err, out)
		}
	})
	if err := n.Stop(); err != nil {
		t.Error(err)
	}
}

// occupy listens on a port of the host.
func occupy(t *testing.T, h *fabric.Host, network, at string) io.Closer {
	t.Helper()
	var c io.Closer
	var err error
	if network == "udp" {
		c, err = h.ListenPacket(network, at)
	} else {
		c, err = h.Listen(network, at)
	}
	must(t, err)
	return c
}

// TestKeysAreRotated changes the key of a spoke, and then the key of the hub, following the manual.
// Meanwhile another spoke constantly sends to the hub.
func TestKeysAreRotated(t *testing.T) {
	side(t)
	_, hub, one, two := star(t)
	for _, n := range []*tunnel.Node{one, two} {
		must(t, n.Await(tunnel.Inner4(1)))
	}
	draw := func() (private, public string) {
		t.Helper()
		file := filepath.Join(filepath.Dir(hub.File), "new.key")
		public = strings.TrimSpace(do(t, hub.Host, "umask 077; "+bin+" genkey | tee "+file+" | "+bin+" pubkey"))
		b, err := os.ReadFile(file)
		must(t, err)
		return strings.TrimSpace(string(b)), public
	}
	replace := func(n *tunnel.Node, old, now string) {
		for i := range n.Config.Peers {
			if n.Config.Peers[i].PublicKey == old {
				n.Config.Peers[i].PublicKey = now
			}
		}
	}
	restart := func(n *tunnel.Node) {
		t.Helper()
		must(t, n.Stop())
		must(t, n.Start())
	}
	reaches := func(n *tunnel.Node, to netip.Addr) {
		t.Helper()
		must(t, n.Await(to))
	}

	// First, the spoke's public key is changed at the hub. The other spoke must not be affected.
	before := handshakesOf(t, hub)
	private, public := draw()
	replace(hub, one.PublicKey, public)
	reload(t, hub, hub.Config.Peers)
	one.Config.PrivateKey, one.PublicKey = private, public
	restart(one)
	reaches(one, tunnel.Inner4(1))
	reaches(two, tunnel.Inner4(1))
	if after := handshakesOf(t, hub); after[nameOf(hub, two)] != before[nameOf(hub, two)] {
		t.Errorf("handshakes with the other spoke: %d, before %d", after[nameOf(hub, two)], before[nameOf(hub, two)])
	}

	// The hub's key changes next: the new public key is written to the spokes' files, the hub
	// restarts, and the spokes reload.
	private, public = draw()
	for _, n := range []*tunnel.Node{one, two} {
		replace(n, hub.PublicKey, public)
	}
	hub.Config.PrivateKey, hub.PublicKey = private, public
	restart(hub)
	for _, n := range []*tunnel.Node{one, two} {
		reload(t, n, n.Config.Peers)
		reaches(n, tunnel.Inner4(1))
	}

	// Last, a preshared key is added to both files, and both ends reload.
	preshared, _ := draw()
	for _, n := range []*tunnel.Node{hub, one} {
		for i := range n.Config.Peers {
			if n == one || n.Config.Peers[i].PublicKey == one.PublicKey {
				n.Config.Peers[i].PresharedKey = preshared
			}
		}
		reload(t, n, n.Config.Peers)
	}
	reaches(one, tunnel.Inner4(1))
	reaches(two, tunnel.Inner4(1))
}

// nameOf returns n's name for its peer other.
func nameOf(n, other *tunnel.Node) string {
	for _, p := range n.Config.Peers {
		if p.PublicKey == other.PublicKey {
			return p.Name
		}
	}
	return ""
}

// TestModesOfPlatforms uses secrets as kubelet and Docker mount them: readable for a group or for
// all users, on a read-only mount in memory. Such files must be accepted with a warning. The same
// mode must be refused on a writable mount, on a disk, in an image's root file system, and in a
// systemd service. A mode that lets others write must be refused everywhere.
func TestModesOfPlatforms(t *testing.T) {
	side(t)
	n := everywhere(t, network(t, fabric.Spec{Spines: 1}))
	good := string(n.Config.TOML())
	dir := t.TempDir() // the folder of n.File has files of other tests, which come and go
	private := regexp.MustCompile(`(?m)^private_key = "(.*)"$`)
	key := private.FindStringSubmatch(good)[1]
	for name, text := range map[string]string{
		"lab.toml": good, "key": key + "\n", "psk": "IFJzPPIGXtmFkLdYtIjZyqHbRUtSJWYeVOf4rvxIE3g=\n",
		"file.toml": private.ReplaceAllString(good, `private_key_file = "key"`),
		"psk.toml":  strings.Replace(good, "[[peer]]\n", "[[peer]]\npreshared_key_file = \"psk\"\n", 1),
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, c := range []struct {
		mode, mount, file string
		code              int
		says              string
	}{
		{"0440", "ro", "lab.toml", 0, "lab.toml: others may read it (mode bits 0040)"},
		{"0444", "ro", "lab.toml", 0, "lab.toml: others may read it (mode bits 0044)"},
		{"0444", "ro", "file.toml", 0, "interface.private_key_file: others may read it"},
		{"0440", "ro", "psk.toml", 0, "peer.preshared_key_file: others may read it"},
		{"0400", "ro", "lab.toml", 0, ""},
		{"0444", "rw", "lab.toml", 78, "run: chmod 600"},
		{"0440", "rw", "lab.toml", 78, "run: chmod 600"},
		{"0666", "ro", "lab.toml", 78, "run chmod 600 on the file that is mounted as"},
		{"0644", "ro", "lab.toml", 0, "lab.toml: others may read it (mode bits 0044)"}, // default mode of kubelet
		{"0640", "ro", "lab.toml", 0, "lab.toml: others may read it (mode bits 0040)"}, // mode of kubelet with fsGroup
		{"0464", "ro", "lab.toml", 78, "run chmod 600 on the file that is mounted as"},
		{"0644", "disk", "lab.toml", 78, "run chmod 600 on the file that is mounted as"},
		{"0444", "disk", "file.toml", 78, "run chmod 600 on the file that is mounted as"},
		{"0644", "root", "lab.toml", 78, "run chmod 600 on the file that is mounted as"},
		{"0440", "service", "lab.toml", 78, "run: chmod 600"},
		{"0644", "service", "file.toml", 78, "run: chmod 600"},
	} {
		mount := map[string]string{
			"ro": "mount -o remount,ro /mnt", "rw": "true", "service": "mount -o remount,ro /mnt && export INVOCATION_ID=0",
			// An overlay without an upper layer has its own device number, and is not in memory.
			"disk": "mkdir /mnt/a /mnt/b && mv /mnt/*.toml /mnt/key /mnt/a && mount -t overlay -o lowerdir=/mnt/a:/mnt/b none /mnt",
			// All files are on one read-only file system in memory, as in an image's root.
			"root": "cp " + bin + " /mnt/srdtun && mkdir /mnt/mnt && mv /mnt/*.toml /mnt/key /mnt/mnt && mount -o remount,ro /mnt",
		}[c.mount]
		program := bin
		if c.mount == "root" {
			program = "chroot /mnt /srdtun"
		}
		out, err := n.Host.Run("unshare", "-m", "sh", "-c", "cd "+dir+" && mount -t tmpfs none /mnt && cp *.toml key psk /mnt && chmod "+c.mode+
			" /mnt/* && "+mount+" && "+program+" check /mnt/"+c.file+" 2>&1; echo code $?")
		if want := fmt.Sprintf("code %d", c.code); err != nil || !strings.Contains(out, want) || !strings.Contains(out, c.says) || strings.Contains(out, key) {
			t.Errorf("%+v: want %s: %v: %s", c, want, err, out)
		}
	}
}
