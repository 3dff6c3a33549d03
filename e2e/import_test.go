package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// Files from other programs are imported, and "srdtun check" must accept the result. One of the
// files names a routing table, which exists only in a mount namespace of the command.
func TestImportedFilesPassCheck(t *testing.T) {
	side(t)
	files, err := filepath.Glob("../config/testdata/wgquick/*.conf")
	if err != nil || len(files) < 15 {
		t.Fatal(files, err)
	}
	f := network(t, fabric.Spec{})
	h := &guided{Host: f.A(1), etc: t.TempDir(), run: t.TempDir()}
	tables := t.TempDir()
	must(t, os.WriteFile(filepath.Join(tables, "rt_tables"), []byte("254 main\n200 vpn\n"), 0o600))
	for i, file := range files {
		from, err := filepath.Abs(file)
		must(t, err)
		to := fmt.Sprintf("wg%d.toml", i)
		h.sh(t, "unshare", "--mount", "sh", "-c", `mount --bind "$1" /etc/iproute2 && srdtun import "$2" -o "$3"`, "sh", tables, from, to)
		if out := h.sh(t, "srdtun", "check", to); !strings.Contains(out, "ok: interface wg"+fmt.Sprint(i)) {
			t.Errorf("%s: %s", file, out)
		}
	}
}

// Two files from providers, both without a ListenPort, must run at the same time on one host, as
// with wg-quick.
func TestTwoProviderFilesOnOneHost(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{HostsB: 2})
	user := guidedHost(t, f.A(1))
	for i := range 2 {
		name := fmt.Sprintf("prov%d", i+1)
		provider := guidedHost(t, f.B(i+1))
		inner := fmt.Sprintf("10.64.%d", i)
		provider.write(t, "[interface]\nprivate_key = \""+provider.private+"\"\naddress = [\""+inner+".1/24\"]\n[[peer]]\npublic_key = \""+user.public+"\"\nallowed_ips = [\""+inner+".7/32\"]\n")
		provider.sh(t, "srdtun", "up", "-d", "lab")
		t.Cleanup(func() { provider.sh(t, "srdtun", "down", "lab") })
		text := "[Interface]\nPrivateKey = " + user.private + "\nAddress = " + inner + ".7/24\n\n[Peer]\nPublicKey = " + provider.public +
			"\nAllowedIPs = " + inner + ".0/24\nEndpoint = " + f.B(i+1).Addr4().String() + ":51820\n"
		must(t, os.WriteFile(filepath.Join(user.etc, name+".conf"), []byte(text), 0o600))
		user.sh(t, "srdtun", "import", name+".conf")
		user.sh(t, "srdtun", "up", "-d", name)
		t.Cleanup(func() { user.sh(t, "srdtun", "down", name) })
	}
	for i := range 2 {
		user.sh(t, "ping", "-n", "-q", "-c", "3", "-i", "0.2", "-W", "5", fmt.Sprintf("10.64.%d.1", i))
	}
}

// The test imports the file of a home server whose PostUp command masquerades the clients'
// addresses. Hosts behind the server have no route to a client's address, so their answers need the
// PostUp command.
func TestImportedHomeServerRoutes(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{HostsB: 2})
	client, home := guidedHost(t, f.A(1)), guidedHost(t, f.B(1))
	behind := f.B(2).Addr4().String()
	server := "[Interface]\nAddress = 10.7.0.1/24\nListenPort = 51820\nPrivateKey = " + home.private + `
PreUp = echo 1 >/proc/sys/net/ipv4/ip_forward
PostUp = nft add table ip %i
PostUp = nft 'add chain ip %i post { type nat hook postrouting priority 100 ; }'; nft add rule ip %i post iifname %i masquerade # all of them
PostDown = nft delete table ip %i

# BEGIN_PEER phone
[Peer]
PublicKey = ` + client.public + "\nAllowedIPs = 10.7.0.2/32\n# END_PEER phone\n"
	phone := "[Interface]\nAddress = 10.7.0.2/24\nPrivateKey = " + client.private + "\n[Peer]\nPublicKey = " + home.public +
		"\nAllowedIPs = 10.7.0.0/24, " + behind + "\nEndpoint = " + f.B(1).Addr4().String() + ":51820\n"
	for _, one := range []struct {
		h    *guided
		text string
	}{{home, server}, {client, phone}} {
		must(t, os.WriteFile(filepath.Join(one.h.etc, "wg0.conf"), []byte(one.text), 0o600))
		one.h.sh(t, "srdtun", "import", "wg0.conf")
		one.h.sh(t, "srdtun", "check", "wg0")
		one.h.sh(t, "srdtun", "up", "-d", "wg0")
		t.Cleanup(func() {
			one.h.sh(t, "srdtun", "down", "wg0")
			if out := one.h.sh(t, "nft", "list", "tables"); strings.Contains(out, "wg0") {
				t.Errorf("PostDown left %s", out)
			}
		})
	}
	if out := client.sh(t, "ip", "route", "get", behind); !strings.Contains(out, "dev wg0") {
		t.Fatalf("the way is not the tunnel: %s", out)
	}
	client.sh(t, "ping", "-n", "-q", "-c", "3", "-i", "0.2", "-W", "5", behind)
	if out := home.sh(t, "srdtun", "show", "wg0"); !strings.Contains(out, "phone") {
		t.Errorf("the peer has no name: %s", out)
	}
}
