package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/srd/ep"
)

const (
	handles = 1000
	// unusedMB bounds the memory of a process with this many unused handles, in MB.
	unusedMB = 60
	// silentFor is the time for which no packet may be sent. The last probes of new sessions end
	// within silentWithin.
	silentFor    = 3 * time.Second
	silentWithin = 60 * time.Second
	// eachMost bounds the time to send a message on each handle. A peer that wrongly delays the
	// others would delay them until the test ends.
	eachMost     = 60 * time.Second
	handleRounds = 5
)

// sessionsMB bounds the memory of a process with a session for each handle, by the endpoint's
// number of ports. A session stores its keys, and the state of each path.
var sessionsMB = []struct {
	ports int
	most  float64
}{{16, 90}, {4, 80}}

// userEnv is the environment variable that makes the test binary act as a user of a thousand
// handles. Its value is the number of ports.
const userEnv = "SRDTUN_E2E_THOUSAND"

// user is a process with a handle for each given peer. A separate process allows the test to
// measure its memory.
type user struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startUser(t *testing.T, h *fabric.Host, ports int) *user {
	self, err := os.Executable()
	must(t, err)
	u := &user{t: t, cmd: exec.Command(self)}
	u.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", userEnv, ports))
	u.cmd.Stderr = os.Stderr
	u.in, err = u.cmd.StdinPipe()
	must(t, err)
	out, err := u.cmd.StdoutPipe()
	must(t, err)
	u.out = bufio.NewScanner(out)
	must(t, h.Do(u.cmd.Start))
	t.Cleanup(func() {
		u.in.Close()
		if err := u.cmd.Wait(); err != nil {
			t.Errorf("the user: %v", err)
		}
	})
	return u
}

// tell sends a command to the user process.
func (u *user) tell(format string, args ...any) {
	u.t.Helper()
	if _, err := fmt.Fprintf(u.in, format+"\n", args...); err != nil {
		u.t.Fatal(err)
	}
}

// says waits for the next line of the user process, and returns it.
func (u *user) says() string {
	u.t.Helper()
	if !u.out.Scan() {
		u.t.Fatalf("the user has ended: %v", u.out.Err())
	}
	return u.out.Text()
}

// resident returns the resident memory of the user process in MB.
func (u *user) resident() float64 {
	u.t.Helper()
	return float64(usageOf(u.t, u.cmd.Process.Pid).RSS) / 1e6
}

// beUser is the main function of the user process.
func beUser() error {
	ports, err := strconv.Atoi(os.Getenv(userEnv))
	if err != nil {
		return err
	}
	e, err := ep.Open(ep.Config{Key: ep.NewKey(), Protocol: "e2e", Ports: ports, Unresponsive: time.Hour})
	if err != nil {
		return err
	}
	defer e.Close()
	fmt.Println(e.PublicKey())
	var all []*ep.Handle
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		switch name, rest, _ := strings.Cut(orders.Text(), " "); name {
		case "peer":
			var key, at string
			if _, err = fmt.Sscan(rest, &key, &at); err == nil {
				var h *ep.Handle
				if h, err = handleOf(e, key, at); err == nil {
					all = append(all, h)
				}
			}
		case "each":
			err = sendEach(e, all)
		case "around":
			err = sendAround(e, all[0], all[1:])
		default:
			err = fmt.Errorf("no order is called %q", name)
		}
		if err != nil {
			return err
		}
	}
	return orders.Err()
}

func handleOf(e *ep.Endpoint, key, at string) (*ep.Handle, error) {
	k, err := ep.ParseKey(key)
	if err != nil {
		return nil, err
	}
	addr, err := netip.ParseAddrPort(at)
	if err != nil {
		return nil, err
	}
	return e.Handle(k, addr)
}

// sendEach sends a message on each handle, and prints the time of the slowest message.
func sendEach(e *ep.Endpoint, all []*ep.Handle) error {
	ctx, cancel := context.WithTimeout(context.Background(), eachMost)
	defer cancel()
	begun, slowest, c := time.Now(), time.Duration(0), make([]ep.Completion, 64)
	for i, h := range all {
		if err := e.Send(ctx, h, []byte("hello"), ep.SendOptions{Context: uint64(i)}); err != nil {
			return err
		}
	}
	for done := 0; done < len(all); {
		n, err := e.Sends().Wait(ctx, c)
		if err != nil {
			return fmt.Errorf("%d of %d: %w", done, len(all), err)
		}
		for i := range c[:n] {
			if err := c[i].Err(); err != nil || c[i].Handle != all[c[i].Context] {
				return fmt.Errorf("handle %d: %w", c[i].Context, err)
			}
		}
		done, slowest = done+n, time.Since(begun)
	}
	fmt.Println(slowest.Round(time.Millisecond))
	return nil
}

// sendAround queues as many requests as possible for an unreachable peer, and then sends on the
// other handles. The requests on the other handles must complete before the first request to the
// unreachable peer.
func sendAround(e *ep.Endpoint, dead *ep.Handle, others []*ep.Handle) error {
	const never = 1 << 32 // context of requests to the unreachable peer
	var err error
	for err == nil {
		err = e.TrySend(dead, make([]byte, 50_000), ep.SendOptions{Context: never})
	}
	if err != ep.ErrFull {
		return err
	}
	if err := sendEach(e, others); err != nil {
		return err
	}
	if n := e.Sends().Poll(make([]ep.Completion, 1)); n > 0 {
		return errors.New("a request to the dead peer has completed")
	}
	return nil
}

// packets returns the number of packets that the hosts have sent.
func packets(t *testing.T, hosts ...*fabric.Host) (n int) {
	t.Helper()
	for _, h := range hosts {
		text := command(t, h, "cat", "/sys/class/net/eth0/statistics/tx_packets")
		k, err := strconv.Atoi(strings.TrimSpace(text))
		must(t, err)
		n += k
	}
	return n
}

// awaitSilence waits until no packet is sent for silentFor.
func awaitSilence(t *testing.T, hosts ...*fabric.Host) {
	t.Helper()
	for end := time.Now().Add(silentWithin); ; {
		before := packets(t, hosts...)
		time.Sleep(silentFor)
		n := packets(t, hosts...) - before
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the idle handles send %d packets in %v", n, silentFor)
		}
	}
}

// thousandPeers opens a thousand peers on a host. Each peer receives one message after another.
func thousandPeers(t *testing.T, h *fabric.Host) (all []*ep.Endpoint) {
	for range handles {
		must(t, h.Do(func() error {
			e, err := ep.Open(ep.Config{Key: ep.NewKey(), Protocol: "e2e", Ports: 1})
			if err == nil {
				all = append(all, e)
			}
			return err
		}))
		e := all[len(all)-1]
		t.Cleanup(func() { e.Close() })
		must(t, e.PostReceive(make([]byte, 10), 0))
		go func() {
			for c := make([]ep.Completion, 1); ; {
				if _, err := e.Receives().Wait(context.Background(), c); err != nil || e.PostReceive(make([]byte, 10), 0) != nil {
					return
				}
			}
		}()
	}
	return all
}

// A program with a thousand idle handles must send nothing, and use little memory. If one peer
// becomes unreachable, the other peers must still get their messages.
func TestThousandHandles(t *testing.T) {
	d := direct(t, fabric.DirectSpec{Links: 1})
	peers := thousandPeers(t, d.B)
	var u *user
	for _, x := range sessionsMB {
		u = startUser(t, d.A, x.ports)
		key, err := ep.ParseKey(u.says())
		must(t, err)
		for _, e := range peers {
			must(t, e.Allow(key))
			u.tell("peer %v %s", e.PublicKey(), netip.AddrPortFrom(d.B.Addr4(), e.Port()))
		}
		awaitSilence(t, d.A, d.B)
		if mb := u.resident(); mb > unusedMB {
			t.Errorf("%d handles take %.0f MB, want at most %d", handles, mb, unusedMB)
		} else {
			t.Logf("%d handles that were not used: %.0f MB, no packet", handles, mb)
		}
		u.tell("each")
		first := u.says()
		awaitSilence(t, d.A, d.B)
		mb := u.resident()
		t.Logf("%d sessions of %d paths, made in %s, then idle: %.0f MB, no packet", handles, x.ports, first, mb)
		if mb > x.most {
			t.Errorf("%d idle sessions take %.0f MB, want at most %.0f", handles, mb, x.most)
		}
	}
	besideDead(t, d, u, peers[0])
}

// besideDead compares the times of messages on all handles with the times while the first peer is
// unreachable.
func besideDead(t *testing.T, d *fabric.Direct, u *user, dead *ep.Endpoint) {
	alone, beside := make([]string, handleRounds), make([]string, handleRounds)
	for i := range alone {
		u.tell("each")
		alone[i] = u.says()
	}
	rule := fmt.Sprintf("table inet dead { chain in { type filter hook input priority 0; udp dport %d drop; }; }", dead.Port())
	command(t, d.B, "nft", rule)
	for i := range beside {
		u.tell("around")
		beside[i] = u.says()
	}
	t.Logf("a message on each handle, %d times: %v; beside a dead peer: %v", handleRounds, alone, beside)
}
