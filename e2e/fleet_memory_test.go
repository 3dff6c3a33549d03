package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

const (
	// The attacker writes hostileValues values of hostileBytes each, the largest size that etcd
	// accepts.
	hostileValues = 120
	hostileBytes  = 1_400_000
	// maxAgentMemory bounds an agent's memory in bytes during the attack. With an empty etcd, the
	// agent uses 20 MiB. systemd kills the agent's service at 128 MiB.
	maxAgentMemory = 64 << 20
)

// In TestFleetAgentStaysSmall, an attacker with etcd's password fills etcd. The memory of an agent
// that watches, of an agent that lists, and of the command "members" must stay bounded. The members
// must remain.
func TestFleetAgentStaysSmall(t *testing.T) {
	long(t)
	f := network(t, fabric.Spec{HostsA: 1, HostsB: 2})
	e, k := startEtcd(t, f.B(2)), newFleetKeys(t)
	a, b := newMember(t, e, k, f.A(1), 1), newMember(t, e, k, f.B(1), 2)
	e.lock()
	b.join(t)
	deny := filepath.Join(t.TempDir(), "deny")
	policy := func(text string) {
		t.Helper()
		must(t, os.WriteFile(deny, []byte(text), 0o600))
	}
	policy("")
	join := func() {
		t.Helper()
		var err error
		a.agent, err = a.Host.Start(etcdAgent(t), "join", "--endpoints", e.url, "--user", "root", "--password-file", k.passwd, "--fleet", "prod",
			"--fleet-key", k.public, "--deny", deny, "--grant", a.grant, "--dir", a.dir, a.name)
		must(t, err)
		a.told = append(a.told, a.agent)
	}
	join()
	a.wantPeers(t, maxNews, "m2")
	values := rand.NewChaCha8([32]byte{})
	for i := range hostileValues {
		data := make([]byte, hostileBytes/2)
		_, _ = values.Read(data)
		e.put(fmt.Sprintf("/srdtun/fleet/h%03d", i), fmt.Sprintf("%x", data))
	}
	smallIn := func(what string) {
		t.Helper()
		peak := usageOf(t, a.agent.Pid()).Peak
		t.Logf("%s: at most %.0f MiB", what, float64(peak)/(1<<20))
		if peak > maxAgentMemory {
			t.Errorf("%s took %d MiB", what, peak>>20)
		}
	}
	wantListed := func(n int) {
		t.Helper()
		until(t, fmt.Sprintf("%d listings", n), time.Minute, func() bool { return strings.Count(a.agent.Log.String(), " listed admitted=") >= n })
	}
	until(t, "the last is refused", time.Minute, func() bool { return strings.Contains(a.said(), "is refused: 16385 bytes; at most 16384 are allowed") })
	smallIn("a watch")
	policy("# another\n")
	wantListed(2)
	policy("# and another one\n")
	wantListed(3)
	smallIn("a listing anew")
	a.kill()
	join()
	wantListed(1)
	smallIn("the listing of a start")
	a.wantPeers(t, 0, "m2")
	a.kill()
	b.kill()
}

// put writes a value to etcd that is too long for a command line.
func (e *etcd) put(key, value string) {
	e.t.Helper()
	cmd := e.host.Command("etcdctl", "--endpoints", e.url, "--user", "root:"+etcdPassword, "put", key)
	cmd.Env, cmd.Stdin = append(os.Environ(), "ETCDCTL_API=3"), strings.NewReader(value)
	if out, err := cmd.CombinedOutput(); err != nil {
		e.t.Fatalf("etcdctl put: %v: %s", err, out)
	}
}
