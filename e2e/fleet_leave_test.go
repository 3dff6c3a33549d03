package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// TestFleetLeaveWhileTheAgentRuns tests that "leave" fails with a reason while the agent runs, even
// if the agent pauses before it restores its record. After the agent has been stopped, "leave" must
// succeed.
func TestFleetLeaveWhileTheAgentRuns(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{HostsB: 2})
	e, k := startEtcd(t, f.B(2)), newFleetKeys(t)
	a, b := newMember(t, e, k, f.A(1), 1), newMember(t, e, k, f.B(1), 2)
	e.lock()
	a.join(t)
	calm := time.Now().Add(maxLeave) // after a start, an agent does not remove members for a while
	b.join(t)
	a.wantPeers(t, maxNews, "m2")
	leave := func() (string, error) {
		out, err := a.Host.Command(etcdAgent(t), "leave", "--endpoints", e.url, "--user", "root", "--password-file", k.passwd, "m2").CombinedOutput()
		return string(out), err
	}
	for range 12 { // the pauses double, up to 20 s
		if out, err := leave(); err == nil || !strings.Contains(out, "the agent of m2 runs") || strings.Count(out, "\n") != 1 {
			t.Fatalf("while it runs: %v, %s", err, out)
		}
		if b.record() == "" {
			break // the agent pauses
		}
	}
	if out, err := leave(); err == nil || !strings.Contains(out, "m2 is no member") && !strings.Contains(out, "the agent of m2 runs") {
		t.Errorf("while it pauses: %v, %s", err, out)
	}
	until(t, "the record is put back", 2*maxLeave, func() bool { return b.record() != "" })
	time.Sleep(time.Until(calm))
	b.kill()
	if out, err := leave(); err != nil {
		t.Errorf("when it is stopped: %v, %s", err, out)
	}
	if b.record() != "" {
		t.Error("the record is there")
	}
	a.wantPeers(t, 0, "")
}
