package e2e

import (
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// In TestGuestsHideNoChangeOfRoots, the owner of a drop-in directory constantly changes valid and
// invalid files. The log must still contain each change that root makes and each fault in root's
// files. Each reading of the owner's files may add only one line to the log.
func TestGuestsHideNoChangeOfRoots(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	dir := newGuestDir(t)
	main := tunnel.Peer{Name: "main", PublicKey: publicKey(t), AllowedIPs: []netip.Prefix{netip.MustParsePrefix("10.61.0.0/24")}}
	n := node(t, f.A(1), "hid", tunnel.Config{Peers: []tunnel.Peer{main}, Extra: dir.section()})
	must(t, n.Start())
	const files = 40
	var peers [3 * files]string // texts with random keys, generated in advance
	for i := range peers {
		peers[i] = guest(t, fmt.Sprintf("a%d", i), fmt.Sprintf("10.62.0.%d/32", i))
	}
	var rounds atomic.Int64
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for r := 0; ; r++ {
			for i := range files {
				select {
				case <-end:
					return
				default:
				}
				// Each round has other peers, names and faults.
				dir.put(t, agentUser, fmt.Sprintf("a%d.toml", i), peers[(i+r*files)%len(peers)])
				dir.put(t, agentUser, fmt.Sprintf("bad%d.toml", i), fmt.Sprintf("x%d = 1\n", r))
			}
			rounds.Add(1)
			time.Sleep(100 * time.Millisecond)
		}
	}()
	stop := sync.OnceFunc(func() { close(end); <-ended })
	defer stop()
	until(t, "the flood is on", time.Minute, func() bool { return rounds.Load() > 10 })
	const changes = 24
	for i := range changes {
		out, err := exec.Command(bin, "set", n.File, fmt.Sprintf("peer.main.persistent_keepalive=%d", 100+i)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if i%8 == 0 {
			dir.put(t, 0, fmt.Sprintf("z%d.toml", i), fmt.Sprintf("roots%d = 1\n", i))
		}
		time.Sleep(300 * time.Millisecond)
	}
	for i := range changes {
		if i%8 == 0 {
			wantLog(t, n, "left out: "+dir.file(fmt.Sprintf("z%d.toml", i)))
		}
	}
	stop()
	for i := range changes {
		if change := fmt.Sprintf("-> %d\n", 100+i); !strings.Contains(n.Log(), change) {
			t.Errorf("%d rounds of the flood hide root's change %q", rounds.Load(), change)
		}
	}
	if out, err := exec.Command(bin, "check", n.File).CombinedOutput(); err == nil || !strings.Contains(string(out), "/z0.toml") {
		t.Errorf("check tells no fault of root's file first: %s", out)
	}
	for _, line := range strings.Split(n.Log(), "\n") {
		if strings.Contains(line, "config-changed") && strings.Count(line, " peer.a") > 8 {
			t.Errorf("a long line: %s", line)
		}
	}
}
