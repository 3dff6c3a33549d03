package daemon

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/events"
	"golang.org/x/sys/unix"
)

// poor is the environment variable that makes the test binary imitate an old kernel.
const poor = "SRDTUN_DAEMON_TEST_POOR"

// refuse returns a filter with which the kernel fails a system call. The call fails if the argument
// `first` has the value `value`, and the argument `second` has one of `bits`. All other calls pass
// to the filters that follow.
func refuse(call, first int, value uint32, second int, bits uint32, err unix.Errno) []unix.SockFilter {
	const data, args = 0, 16 // struct seccomp_data of linux/seccomp.h, little endian
	load := func(at int) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: uint32(at)}
	}
	unless := func(test uint16, k uint32, left uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | test, K: k, Jf: left}
	}
	return []unix.SockFilter{
		load(data), unless(unix.BPF_JEQ, uint32(call), 5),
		load(args + 8*first), unless(unix.BPF_JEQ, value, 3),
		load(args + 8*second), unless(unix.BPF_JSET, bits, 1),
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(err)},
	}
}

// impoverish disables features that some kernels lack or restrict: UDP_GRO, super-frames of UDP,
// and the kernel's messages about the machine and about routes.
func impoverish() error {
	var prog []unix.SockFilter
	for _, v := range [][]unix.SockFilter{
		refuse(unix.SYS_SETSOCKOPT, 1, unix.IPPROTO_UDP, 2, unix.UDP_GRO, unix.ENOPROTOOPT),
		refuse(unix.SYS_IOCTL, 1, unix.TUNSETOFFLOAD, 2, unix.TUN_F_USO4|unix.TUN_F_USO6, unix.EINVAL),
		refuse(unix.SYS_SOCKET, 0, unix.AF_NETLINK, 2, unix.NETLINK_KOBJECT_UEVENT, unix.EPROTONOSUPPORT),
		refuse(unix.SYS_SETSOCKOPT, 1, unix.SOL_NETLINK, 2, unix.NETLINK_ADD_MEMBERSHIP, unix.EPERM),
	} {
		prog = append(prog, v...)
	}
	prog = append(prog, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	all := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	_, _, err := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&all)))
	if err != 0 {
		return err
	}
	return nil
}

// On a kernel without the optional features the tunnel carries packets, and each missing feature is
// reported once.
func TestFallbacksAreTold(t *testing.T) {
	if os.Getenv(poor) == "" {
		c := exec.Command("/proc/self/exe", "-test.run", "^TestFallbacksAreTold$")
		c.Env = append(os.Environ(), poor+"=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	run := runDir(t)
	before := network(t, run)
	a, b := up(t, parse(t)), up(t, other(t))
	missing := []string{
		"srdd0: without UDP segmentation offload: ", "srdd0: without UDP tunnel segmentation offload: ", "(UDP_GRO)",
		"a restored copy of this machine would not be noticed: ", "the kernel does not report when others remove routes: ",
	}
	for _, part := range missing {
		a.said(events.Fallback, part)
	}
	withoutChecksums(t)
	c, err := net.Dial("udp", "10.80.0.2:9")
	must(t, err)
	defer c.Close()
	refused := func() bool {
		for range 20 {
			_, _ = c.Write(make([]byte, 1400))
		}
		for _, e := range a.story.after(0).Events {
			if e.Kind == events.Fallback && e.Text == "a device or route refuses UDP segmentation: trains are sent packet by packet, which is slower" {
				return true
			}
		}
		return false
	}
	until(t, "trains to be refused", refused)
	until(t, "packets to pass", func() bool {
		st, err := dial(t, "srdd1").Show()
		return err == nil && st.Device.WrittenFrames >= 100
	})
	if n := a.count(events.Fallback); n != len(missing)+1 {
		t.Errorf("told %q", texts(a.server.log))
	}
	for _, r := range []*running{a, b} {
		r.cancel()
		r.wait()
	}
	if after := network(t, run); !slices.Equal(after, before) {
		t.Errorf("%q, before %q", after, before)
	}
}

// withoutChecksums makes all UDP sockets of this process send without checksums. For such sockets
// the kernel refuses UDP segmentation.
func withoutChecksums(t *testing.T) {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	found := 0
	for _, f := range files {
		fd, err := strconv.Atoi(f.Name())
		must(t, err)
		if p, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL); err != nil || p != unix.IPPROTO_UDP {
			continue
		}
		must(t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_NO_CHECK, 1))
		found++
	}
	if found == 0 {
		t.Fatal("no sockets")
	}
}

// Both processes report a failed handover: the process that gives its state, and the process that
// takes it.
func TestHandoverThatFailsIsTold(t *testing.T) {
	run := runDir(t)
	before := state(t, run)
	end := func(r *running, part string) {
		t.Helper()
		r.cancel()
		r.wait()
		if part != "" {
			r.said(events.Fallback, part)
		} else if n := r.count(events.Fallback); n > 0 {
			t.Errorf("told %q", texts(r.server.log))
		}
	}
	end(upWith(t, Options{Config: parse(t), Store: &keeper{expected: true, fail: unix.ENOBUFS}}),
		"the next process will not take over device and sockets: "+unix.ENOBUFS.Error())
	k := &keeper{expected: true}
	end(upWith(t, Options{Config: parse(t), Store: k}), "")
	end(upWith(t, Options{Config: parse(t, "source_ports = 4", "source_ports = 5"), Before: k.got}), "device and sockets are created anew: "+errOtherSetup.Error())
	sameState(t, run, before)
}

// The daemon reports that it can neither read nor write the file of the peers' addresses.
func TestPeersFileFaultsAreReported(t *testing.T) {
	runDir(t)
	path, err := rundir.Path("srdd0", rundir.Peers)
	must(t, err)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte("{"), 0o600))
	r := up(t, parse(t))
	if e := r.said(events.Fallback, "the last addresses of peers without endpoints are not used: "); e.Level != events.Warning {
		t.Errorf("%+v", e)
	}
	r.cancel()
	r.wait()

	s := opened(t)
	s.restart.loadLastKnown()
	if path, err = rundir.Path("srdd0", rundir.Peers); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil { // a directory with the name of the file
		t.Fatal(err)
	}
	for range 3 {
		s.restart.lastKnown.changed = true
		s.restart.saveLastKnown()
	}
	if said := texts(s.log); len(said) != 1 || !strings.HasPrefix(said[0], "fallback after a crash peers without endpoints will not be called: ") {
		t.Errorf("told %q, want one line", said)
	}
}

// If the monitor's listener closes, the daemon reports this, and the tunnel continues.
func TestMonitorThatEndsIsTold(t *testing.T) {
	s := opened(t, "[paths]", "[metrics]\nlisten = \"127.0.0.1:9586\"\n[dashboard]\nlisten = \"127.0.0.1:9587\"\n[paths]")
	s.monitor.close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan bool)
	go func() { s.monitor.serve(ctx); close(done) }()
	until(t, "two lines", func() bool { return len(texts(s.log)) == 2 })
	cancel()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	for _, e := range s.log.after(0).Events {
		if e.Kind != events.Fallback {
			t.Errorf("%+v", e)
		}
	}
}
