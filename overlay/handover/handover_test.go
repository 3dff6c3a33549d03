package handover

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func pair(t *testing.T) (fds []int) {
	t.Helper()
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { unix.Close(p[0]); unix.Close(p[1]) })
	return p[:]
}

func TestStateIsSealedAndComesBack(t *testing.T) {
	want := State{Setup: "abc", FwMark: 7, Ports: []uint16{51820, 4000},
		Peers: []Peer{{Key: "k", Addresses: []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:5"), netip.MustParseAddrPort("[2001:db8::1]:6")}}}}
	fd, err := want.memfd()
	must(t, err)
	if _, err := unix.Pwrite(fd, []byte("x"), 0); err == nil {
		t.Error("a sealed state can be written")
	}
	got, err := readState(fd)
	must(t, err)
	want.Version, want.Network = got.Version, got.Network
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
		t.Error("the descriptor is still open")
	}
}

// Every kind of state that this program has not written is refused.
func TestForeignStateIsRefused(t *testing.T) {
	memory := func(data string, seal int) int {
		fd, err := unix.MemfdCreate("x", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		must(t, err)
		unix.Pwrite(fd, []byte(data), 0)
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seal); err != nil {
			t.Fatal(err)
		}
		return fd
	}
	good := `{"version":1,"network_namespace":"` + network() + `"}`
	sparse := memory("{}", 0)
	must(t, unix.Ftruncate(sparse, maxState+1))
	unix.FcntlInt(uintptr(sparse), unix.F_ADD_SEALS, seals)
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	must(t, err)
	for name, c := range map[string]struct {
		fd  int
		why string
	}{
		"not sealed":        {memory(good, unix.F_SEAL_GROW), "sealed"},
		"a socket":          {socket, "sealed"},
		"too long":          {sparse, "bytes, more than"},
		"not JSON":          {memory("hello", seals), "damaged"},
		"another version":   {memory(strings.Replace(good, "1", "4", 1), seals), "format 4"},
		"another namespace": {memory(`{"version":1,"network_namespace":"net:[1]"}`, seals), "namespace"},
	} {
		if _, err := readState(c.fd); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, want %q", name, err, c.why)
		}
	}
	if _, err := readState(memory(good, seals)); err != nil {
		t.Error(err)
	}
}

func TestOnlyARestartIsExpected(t *testing.T) {
	const unit = "srdtun@lab.service"
	for jobs, want := range map[string]bool{
		"":                                     false,
		"No jobs running.\n":                   false,
		"12 srdtun@lab.service stop running\n": false,
		"12 srdtun@lab2.service restart running\n":                          false,
		"12 srdtun@lab.service restart\n":                                   true,
		"1 a.service start waiting\n2 srdtun@lab.service restart running\n": true,
		"12 restart srdtun@lab.service\n":                                   false,
	} {
		if got := restarts(jobs, unit); got != want {
			t.Errorf("%q: %v", jobs, got)
		}
	}
}

func TestWithoutAManagerNothingIsExpected(t *testing.T) {
	if (Store{}).Expected() || (Store{socket: "/x"}).Expected() || (Store{unit: "srdtun@a.service"}).Expected() {
		t.Error("a restart is expected of nobody")
	}
	t.Setenv(pidEnv, "")
	if b, err := (Store{}).Receive(); b != nil || err != nil {
		t.Errorf("received %v, %v", b, err)
	}
}

// manager imitates a service manager that stores descriptors by name.
type manager struct {
	t      *testing.T
	socket *net.UnixConn
	mu     sync.Mutex // needed because the race detector does not know that the barrier orders the accesses
	stored map[string]int
}

func newManager(t *testing.T) (*manager, Store) {
	path := filepath.Join(t.TempDir(), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	must(t, err)
	m := &manager{t: t, socket: c, stored: map[string]int{}}
	done := make(chan struct{})
	go func() { defer close(done); m.run() }()
	t.Cleanup(func() { c.Close(); <-done })
	return m, Store{socket: path, unit: "srdtun@a.service"}
}

func (m *manager) run() {
	text, oob := make([]byte, 4096), make([]byte, 8192)
	for {
		n, o, _, _, err := m.socket.ReadMsgUnix(text, oob)
		if err != nil {
			return
		}
		var fds []int
		if all, _ := unix.ParseSocketControlMessage(oob[:o]); len(all) > 0 {
			fds, _ = unix.ParseUnixRights(&all[0])
		}
		_, name, _ := strings.Cut(string(text[:n]), "FDNAME=")
		m.mu.Lock()
		switch {
		case strings.HasPrefix(string(text[:n]), "FDSTORE=1\nFDPOLL=0\n"):
			m.stored[name] += len(fds)
		case strings.HasPrefix(string(text[:n]), "FDSTOREREMOVE=1\n"):
			delete(m.stored, name)
		}
		m.mu.Unlock()
		for _, fd := range fds {
			unix.Close(fd)
		}
	}
}

// Give may store more descriptors than fit into one message. All have arrived when Give returns.
func TestGive(t *testing.T) {
	m, s := newManager(t)
	fd := pair(t)[0]
	b := &Bundle{TUN: []int{fd, fd}}
	for range 512 {
		b.UDP = append(b.UDP, fd)
	}
	must(t, s.Give(b))
	m.mu.Lock()
	defer m.mu.Unlock()
	if want := map[string]int{nameTUN: 2, nameUDP: 512, nameState: 1}; !reflect.DeepEqual(m.stored, want) {
		t.Errorf("the manager has %v, want %v", m.stored, want)
	}
}

func TestGiveToNobody(t *testing.T) {
	fd := pair(t)[0]
	s := Store{socket: filepath.Join(t.TempDir(), "none"), unit: "x"}
	if err := s.Give(&Bundle{TUN: []int{fd}, UDP: []int{fd}}); err == nil {
		t.Error("no error")
	}
}

// Descriptors for another process are not touched. The variables are removed from the environment,
// so this process's children do not inherit them.
func TestDescriptorsOfAnother(t *testing.T) {
	t.Setenv(pidEnv, strconv.Itoa(os.Getpid()+1))
	t.Setenv(countEnv, "2")
	t.Setenv(namesEnv, "tun:udp")
	if fds, err := inherited(); fds != nil || err != nil {
		t.Errorf("taken: %v", fds)
	}
	if os.Getenv(countEnv) != "" {
		t.Error("the environment still has them")
	}
}

func TestCountsThatMakeNoSense(t *testing.T) {
	for _, n := range []string{"-1", "0", "x", "1000000", "601"} {
		t.Setenv(pidEnv, strconv.Itoa(os.Getpid()))
		t.Setenv(countEnv, n)
		if fds, err := inherited(); fds != nil || (err == nil) != (n == "0") {
			t.Errorf("%s: %d taken", n, len(fds))
		}
	}
}

func TestUnpackWhatIsNotAllThere(t *testing.T) {
	dup := func() int {
		fd, err := unix.Dup(pair(t)[0])
		must(t, err)
		return fd
	}
	state := func() int {
		fd, err := State{}.memfd()
		must(t, err)
		return fd
	}
	for _, fds := range []map[string][]int{
		{nameTUN: {dup()}},
		{nameTUN: {dup()}, nameUDP: {dup()}},
		{nameUDP: {dup()}, nameState: {state()}},
		{nameTUN: {dup()}, nameUDP: {dup()}, nameState: {state(), state()}},
		{nameTUN: {dup()}, nameUDP: {dup()}, nameState: {dup()}},
		{"": {dup()}, "other": {dup()}},
	} {
		var all []int
		for _, v := range fds {
			all = append(all, v...)
		}
		if b, err := unpack(fds); err == nil {
			t.Errorf("unpacked %v", b)
		}
		for _, fd := range all {
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
				t.Errorf("descriptor %d is left open", fd)
			}
		}
	}
	fds := map[string][]int{nameTUN: {dup()}, nameUDP: {dup(), dup()}, nameState: {state()}}
	b, err := unpack(fds)
	must(t, err)
	if len(b.TUN) != 1 || len(b.UDP) != 2 {
		t.Errorf("unpacked %v", b)
	}
	b.Close()
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
